package httptool

import (
	"net"
	"net/http"
	"time"
)

const (
	idleTimeout    = 30 * time.Second
	maxIdlePerHost = 64
	maxHeaderBytes = 256 << 10
)

// newTransport returns the transport of one tool. It knows no proxy (what is in
// the environment of the process must not decide where a payment goes) and
// speaks HTTP/1.1 only: net/http's HTTP/2 sends a request again by itself when a
// server says goodbye, and shares one connection among calls that must be able
// to have one of their own. timeout bounds the making of a connection: net/http
// goes on with that when the call that wanted it is over.
func newTransport(private, fresh bool, timeout time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: timeout}
	if !private {
		dialer.Control = refusePrivate
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            dialer.DialContext,
		Protocols:              protocols,
		DisableKeepAlives:      fresh,
		TLSHandshakeTimeout:    timeout,
		DisableCompression:     true, // what is judged and stored is what was sent
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}
