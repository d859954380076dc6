package httptool

import (
	"fmt"
	"net/netip"
	"syscall"
)

// addressError is returned by a dial to an address that is not public.
type addressError struct{ address string }

func (e *addressError) Error() string {
	return fmt.Sprintf("%s is a private address; if that is meant, write allow = [\"private\"] into the tool's table", e.address)
}

// RefusePrivate is a dialer's Control. It sees the address that is about to be
// dialled, so a name that resolves differently from one moment to the next
// does not get around it. It refuses whatever is not one of the Internet's
// addresses.
func RefusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !public(ap.Addr()) {
		return &addressError{address}
	}
	return nil
}

// notPublic lists the blocks beyond those that netip has a name for; from the
// IANA registries of special-purpose addresses.
var notPublic = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
	netip.MustParsePrefix("::/96"),           // an IPv4 address in old clothes
	netip.MustParsePrefix("64:ff9b::/96"),    // NAT64: an IPv4 address behind a gateway
	netip.MustParsePrefix("64:ff9b:1::/48"),  // local NAT64
	netip.MustParsePrefix("100::/64"),        // discard
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4: an IPv4 address inside
	netip.MustParsePrefix("fec0::/10"),       // site-local
}

// public reports whether an address is one of the Internet's.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, block := range notPublic {
		if block.Contains(a) {
			return false
		}
	}
	return true
}
