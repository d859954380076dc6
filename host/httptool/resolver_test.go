package httptool_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
)

// nameServer answers each query with the next list of addresses, the last one
// again and again.
type nameServer struct {
	conn net.PacketConn
	done sync.WaitGroup

	mu      sync.Mutex // guards what follows
	answers [][]string
	asked   int // for addresses of version 4
}

func newNameServer(t *testing.T, answers ...[]string) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, answers: answers}
	s.done.Go(s.serve)
	t.Cleanup(func() { _ = conn.Close(); s.done.Wait() })
	return s
}

// resolver asks this server alone.
func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

func (s *nameServer) serve() {
	query := make([]byte, 1024)
	for {
		n, from, err := s.conn.ReadFrom(query)
		if err != nil {
			return
		}
		if reply := s.reply(query[:n]); reply != nil {
			_, _ = s.conn.WriteTo(reply, from) // who has gone asks no more
		}
	}
}

// reply answers a query of one question, by RFC 1035, section 4.
func (s *nameServer) reply(query []byte) []byte {
	end := 12
	for end < len(query) && query[end] != 0 {
		end += int(query[end]) + 1
	}
	if end += 5; end > len(query) {
		return nil
	}
	typ := binary.BigEndian.Uint16(query[end-4:])
	var records []byte
	n := 0
	for _, address := range s.next(typ) {
		a := netip.MustParseAddr(address)
		if (typ == 1) != a.Is4() || typ != 1 && typ != 28 {
			continue
		}
		records = append(records, 0xc0, 12, 0, byte(typ), 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
		records = append(records, a.AsSlice()...)
		n++
	}
	reply := slices.Concat(query[:2], []byte{0x81, 0x80, 0, 1, 0, byte(n), 0, 0, 0, 0}, query[12:end])
	return append(reply, records...)
}

func (s *nameServer) next(typ uint16) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.answers[min(s.asked, len(s.answers)-1)]
	if typ == 1 {
		s.asked++
	}
	return answer
}

// A name is no address: whatever it resolves to, and however often it changes
// its mind, only public addresses are dialled.
//
// Seen red with a dialer that does not look, with one that looks at addresses of
// version 4 only, and with translated addresses taken for public.
func TestNamesThatResolveToPrivateAddresses(t *testing.T) {
	t.Parallel()
	const public, public6 = "93.184.216.34", "2606:4700:4700::1111"
	for _, row := range []struct {
		name    string
		host    string
		answers [][]string
		dialled []string
		code    string // of the last of three tries
	}{
		{"loopback", "a.example", [][]string{{"127.0.0.1"}}, nil, "address_refused"},
		{"loopback of version 6", "a.example", [][]string{{"::1"}}, nil, "address_refused"},
		{"a private network", "a.example", [][]string{{"10.0.0.1"}}, nil, "address_refused"},
		{"a cloud's metadata", "a.example", [][]string{{"169.254.169.254"}}, nil, "address_refused"},
		{"a cloud's metadata of version 6", "a.example", [][]string{{"fd00:ec2::254"}}, nil, "address_refused"},
		{"this host", "a.example", [][]string{{"0.0.0.0"}}, nil, "address_refused"},
		{"mapped", "a.example", [][]string{{"::ffff:127.0.0.1"}}, nil, "address_refused"},
		{"mapped metadata", "a.example", [][]string{{"::ffff:169.254.169.254"}}, nil, "address_refused"},
		{"translated", "a.example", [][]string{{"64:ff9b::7f00:1"}}, nil, "address_refused"},
		{"link-local", "a.example", [][]string{{"fe80::1"}}, nil, "address_refused"},
		{"in a tunnel", "a.example", [][]string{{"2002:7f00:1::"}}, nil, "address_refused"},
		{"a decimal number", "2130706433", [][]string{{"127.0.0.1"}}, nil, "not_connected"},
		{"octal numbers", "0177.0.0.1", [][]string{{"127.0.0.1"}}, nil, "not_connected"},
		{"a hexadecimal number", "0x7f000001", [][]string{{"127.0.0.1"}}, nil, "address_refused"},
		{"short numbers", "127.1", [][]string{{"127.0.0.1"}}, nil, "not_connected"},
		{"many, all private", "a.example", [][]string{{"10.0.0.1", "192.168.0.1", "127.0.0.1", "::1"}}, nil, "address_refused"},
		{"a private one among public ones", "a.example", [][]string{{public, "127.0.0.1"}}, []string{public, public, public}, ""},
		{"a public one behind a private one", "a.example", [][]string{{"127.0.0.1", public}}, []string{public, public, public}, ""},
		{"another version each", "a.example", [][]string{{"127.0.0.1", public6}}, []string{public6, public6, public6}, ""},
		{"public at first", "a.example", [][]string{{public}, {"127.0.0.1"}}, []string{public}, "address_refused"},
		{"public now and then", "a.example", [][]string{{"127.0.0.1"}, {public}, {"127.0.0.1"}}, []string{public}, "address_refused"},
		{"public", "a.example", [][]string{{public}}, []string{public, public, public}, "not_connected"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			names := newNameServer(t, row.answers...)
			cfg := &httptool.Config{URL: "http://" + row.host + ".:8080/x"}
			tool := build(t, host.Contract{Effect: host.Once}, cfg, nil)
			var mu sync.Mutex
			var dialled []string
			httptool.ResolveWith(tool, names.resolver(), func(address string) {
				mu.Lock()
				defer mu.Unlock()
				dialled = append(dialled, strings.Trim(strings.TrimSuffix(address, ":8080"), "[]"))
			})
			var last host.Answer
			for range 3 {
				c := call(`{}`)
				c.Sent = func() { t.Error("something was sent") }
				last = tool.Try(t.Context(), c)
				if last.Outcome != notApplied || last.Settles {
					t.Errorf("%+v", last)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(dialled, row.dialled) || row.code != "" && last.Code != row.code {
				t.Errorf("dialled %v, want %v; %+v", dialled, row.dialled, last)
			}
			// Go asks nobody for a name that is all numbers.
			names.mu.Lock()
			defer names.mu.Unlock()
			if numbers := strings.Trim(row.host, "0123456789.") == ""; names.asked < 3 && !numbers {
				t.Errorf("asked %d times", names.asked)
			}
		})
	}
}

// A public receiver leads a read on to a private one, by any spelling: it is not
// dialled. The one request was the public one's.
//
// Seen red with a dialer that does not look.
func TestRedirectsToNamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	for _, to := range []string{
		"http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://[::ffff:7f00:1]/", "http://[::]/",
		"http://metadata.internal/", "http://169.254.169.254/latest/meta-data", "//localhost/", "https://127.0.0.1/", "http://LOCALHOST:80/",
		"http://[64:ff9b::a9fe:a9fe]/", "http://[fe80::1%25lo]/", "http://127.0.0.1:0/",
	} {
		p := prey(t, func(v *victim) { v.says("HTTP/1.1 302 Found\r\nLocation: " + to + "\r\nContent-Length: 0\r\n\r\n") })
		tool := build(t, host.Contract{Effect: host.Read}, &httptool.Config{URL: "http://public.example/x"}, nil)
		names := newNameServer(t, []string{"127.0.0.1"})
		httptool.ResolveWith(tool, names.resolver(), func(address string) { t.Errorf("%s: %s would have been dialled", to, address) })
		httptool.Resolve(tool, map[string]string{"public.example:80": strings.TrimPrefix(p.url, "http://")})
		a := tool.Try(t.Context(), call(`{}`))
		unnamed := a.Code == "not_connected" && strings.Contains(a.Message, "no such host")
		if a.Outcome != notApplied || a.Code != "address_refused" && !unnamed || p.requests.Load() != 1 {
			t.Errorf("%s: %d requests, %+v", to, p.requests.Load(), a)
		}
	}
}
