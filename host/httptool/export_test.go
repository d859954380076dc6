package httptool

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// Public is public for an address as text.
func Public(address string) bool { return public(netip.MustParseAddr(address)) }

var NewTransport = newTransport

// ExpandURL expands a URL template.
func ExpandURL(text string, value func(name string) string) (string, error) {
	u, err := parseURL(text)
	if err != nil {
		return "", err
	}
	expanded, err := u.expand(func(name string) (string, error) { return value(name), nil })
	if err != nil {
		return "", err
	}
	return expanded.String(), nil
}

// PutString puts a string into a JSON document.
func PutString(document, path, s string) (string, error) {
	p, err := parsePointer(path)
	if err != nil {
		return "", err
	}
	with, err := p.put([]byte(document), s)
	return string(with), err
}

// GetPointer reads a part of a JSON document.
func GetPointer(document, path string) (string, bool) {
	p, err := parsePointer(path)
	if err != nil {
		return "", false
	}
	part, ok := p.get([]byte(document))
	return string(part), ok
}

// Resolve has a tool reach each of the names, with its port, at an address of
// its own, without a look at whether that is private.
func Resolve(t host.Tool, names map[string]string) {
	tr := transportOf(t).transport
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if at, ok := names[address]; ok {
			return (&net.Dialer{}).DialContext(ctx, network, at)
		}
		return dial(ctx, network, address)
	}
}

// Transport is a tool's.
func Transport(t host.Tool) *http.Transport { return transportOf(t).transport }

// ResolveWith has a tool look names up with r. would is told of each address
// that the tool is willing to dial, and none of them is dialled.
func ResolveWith(t host.Tool, r *net.Resolver, would func(address string)) {
	d := newDialer(false, time.Second)
	look := d.Control
	d.Resolver, d.Control = r, func(network, address string, c syscall.RawConn) error {
		if look == nil {
			would(address)
			return errors.New("not dialled by a test")
		}
		if err := look(network, address, c); err != nil {
			return err
		}
		would(address)
		return errors.New("not dialled by a test")
	}
	transportOf(t).transport.DialContext = d.DialContext
}

func transportOf(t host.Tool) *tool {
	if a, ok := t.(*askable); ok {
		return a.tool
	}
	return t.(*tool)
}

// Onward says where a redirect leads to, whether that is another place, and why
// it is not followed.
func Onward(from, location string) (to string, away bool, why string) {
	u, err := url.Parse(from)
	if err != nil {
		return "", false, err.Error()
	}
	next, why := (&sending{method: "GET", url: u}).onward(location)
	if next == nil {
		return "", false, why
	}
	return next.url.String(), next.away, ""
}

// EncodeForm writes an object as a form.
func EncodeForm(object string) (string, error) {
	text, err := encodeForm([]byte(object))
	return string(text), err
}

// Cut cuts the values out of a text.
func Cut(text string, values map[string]string) string { return newCutter(values).text(text) }
