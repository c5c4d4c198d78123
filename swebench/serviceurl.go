package swebench

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// ServiceURL returns the normal form of a service's root URL: lower-case scheme, the same
// host and port, the path "/". White space around it does not matter. It refuses every
// scheme but http and https, an empty host, a port above 65535, credentials, a path, a
// query and a fragment, without showing the URL. Requests go to paths joined onto it.
func ServiceURL(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", errors.New("it is empty; give the root URL of the service, such as http://host:18080")
	}
	u, err := url.Parse(s)
	if err != nil {
		return "", errors.New("it is not a URL; give the root URL of the service, such as http://host:18080")
	}
	port := u.Port()
	number, portErr := strconv.ParseUint(port, 10, 64)
	fault := ""
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		fault = "its scheme is neither http nor https"
	case u.User != nil:
		fault = "it has credentials; use swebench_service_auth_token"
	case u.Hostname() == "" || strings.ContainsAny(u.Host, " ;"):
		fault = "it has no sound host"
	case port != "" && (portErr != nil || number > 65535):
		fault = "its port is above 65535"
	case u.Opaque != "" || u.Path != "" && u.Path != "/":
		fault = "it has a path"
	case u.RawQuery != "":
		fault = "it has a query"
	case u.Fragment != "":
		fault = "it has a fragment"
	default:
		return u.Scheme + "://" + u.Host + "/", nil
	}
	return "", errors.New(fault + "; give the root URL of the service, such as http://host:18080")
}
