package httptool

import (
	"net"
	"net/http"
	"time"
)

const maxHeaderBytes = 256 << 10

// newTransport returns the transport of one tool. Each request has a connection
// of its own: on a kept one the answer to an earlier request may still be there,
// or come twice, and be taken for this one's. It knows no proxy (what is in the
// environment of the process must not decide where a payment goes) and speaks
// HTTP/1.1 only: net/http's HTTP/2 sends a request again by itself when a server
// says goodbye. timeout bounds the making of a connection: net/http goes on with
// that when the call that wanted it is over.
func newTransport(private bool, timeout time.Duration) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            newDialer(private, timeout).DialContext,
		Protocols:              protocols,
		DisableKeepAlives:      true,
		TLSHandshakeTimeout:    timeout,
		DisableCompression:     true, // what is judged and stored is what was sent
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// newDialer returns what makes the connections, and looks at each address.
func newDialer(private bool, timeout time.Duration) *net.Dialer {
	dialer := &net.Dialer{Timeout: timeout}
	if !private {
		dialer.Control = RefusePrivate
	}
	return dialer
}
