// Package rawjson reads and writes JSON as bytes, without reflection and
// without touching what it does not have to: values keep their key order, their
// number text and their escapes. It accepts exactly the grammar that
// encoding/json accepts.
package rawjson
