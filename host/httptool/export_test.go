package httptool

import "net/netip"

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
