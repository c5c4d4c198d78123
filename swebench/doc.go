// Package swebench holds the wire types of the SWE-bench service protocol, version v1:
// what a scorer sends, what a service answers, and how both are read. It opens no
// connection and no file; packages scorer, service and config are built on it.
//
// The other side is often a Python program, and encoding/json reads differently from
// it: keys in any letter case, the last of two equal keys, zero for null. So requests are
// read strictly and answers leniently, by hand:
//
//   - [ParseRunRequest] refuses unknown keys, keys in another letter case, equal keys at
//     any depth, null where no null is allowed, data after the object, text that is not
//     UTF-8, and half of a surrogate pair in a text that is used. Inside of
//     generation_params such halves, and numbers of any size, are kept byte for byte.
//   - Integers of a request may be written as 5, 5.0, 5e0 or "5", as the Python service
//     takes them. true and false are no integers, although Python would take them.
//   - Instance IDs become file names and command line arguments: an empty one, one that
//     begins with "-", one with a slash, a backslash or a control character, ".", ".." and
//     an ID given twice are refused.
//   - [ParseCounters] takes a non-negative integer or a string of ASCII digits, nothing
//     else: a score must not hang on a lucky conversion.
//   - [ParseStatus] ignores what it does not know and what it cannot read.
//   - [HeaderNames] holds names of session headers to the rules of routing.HeaderConfig,
//     which refuses a name with an underscore, because common proxies drop such headers.
//
// No error shows an endpoint key or an endpoint's URL, which may hold one.
package swebench
