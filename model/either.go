package model

import (
	"errors"
	"net/http"
)

// either makes of what a transport or a middleware returned what it ought to be: an error
// or a response, with a header and a body. Not all of them keep to that.
func either(res *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil:
		if res != nil && res.Body != nil {
			_ = res.Body.Close()
		}
		return nil, err
	case res == nil:
		return nil, errNeither
	}
	if res.Header == nil {
		res.Header = http.Header{}
	}
	if res.Body == nil {
		res.Body = http.NoBody
	}
	return res, nil
}

var errNeither = errors.New("model: a transport or a middleware returned neither a response nor an error")
