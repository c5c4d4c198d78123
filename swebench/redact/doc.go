// Package redact takes secrets out of texts, JSON and streams before they are stored or
// sent.
//
// It knows a run's secrets literally, also as they look in a URL or in JSON, and it knows
// what credentials look like: an Authorization header, api_key= and its kin, the password
// of a URL, and values under names such as endpoint_api_key.
//
// A secret of one character cannot be taken out of free text, which would become
// unreadable; it is taken out only behind "key=", "token=", "Bearer " and the like.
// [Redactor.Weak] tells whether there is such a secret.
package redact
