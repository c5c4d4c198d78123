package model

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
)

// plainServer is the end of the text that net/http has for an https request to an http
// server; it has no name for the error.
const plainServer = "server gave HTTP response to HTTPS client"

// broken tells that no attempt can get through, because of what the two ends are.
func broken(err error) bool {
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var address *net.AddrError
	return errors.As(err, &record) || errors.As(err, &certificate) || errors.As(err, &address) || strings.Contains(err.Error(), plainServer)
}

// connectionDetail is what may be shown of a failure below HTTP: addresses and causes, and
// nothing that a server sent.
func connectionDetail(err error) string {
	var op *net.OpError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case strings.Contains(err.Error(), plainServer):
		return "the server speaks http, not https; check the scheme of the base URL"
	case errors.As(err, &certificate):
		return certificate.Error()
	case errors.As(err, &dns):
		return dns.Error()
	case errors.As(err, &op):
		return op.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before an answer came"
	}
	return ""
}
