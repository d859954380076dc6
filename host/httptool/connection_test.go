package httptool_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
)

var quiet = log.New(io.Discard, "", 0)

// rawServer serves each connection with a function and closes it then.
func rawServer(t *testing.T, serve func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { defer conn.Close(); serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	return "http://" + l.Addr().String()
}

func readRequest(conn net.Conn) {
	if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

// contextUntil is a context that ends when the channel is received from.
func contextUntil(t *testing.T, c <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		select {
		case <-c:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Who listens to Sent may kill the process there, so no byte may have left.
// Seen red with Sent called when the head was written, and when all was.
func TestSentComesBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	accepted := make(chan net.Conn, 1)
	release := make(chan struct{})
	url := rawServer(t, func(conn net.Conn) {
		accepted <- conn
		<-release
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	c, sent := call(`{}`), 0
	c.Sent = func() {
		sent++
		conn := <-accepted
		// Long enough for a byte that has left to arrive on this machine.
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		n, err := conn.Read(make([]byte, 1))
		if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the receiver read %d bytes, %v, before Sent returned", n, err)
		}
		_ = conn.SetReadDeadline(time.Time{})
		close(release)
	}
	// A head that is longer than a writer's buffer begins to leave while it is
	// still being written.
	long := map[string]string{"X-Long": strings.Repeat("x", 64<<10)}
	if a := toward(t, host.Once, url, httptool.Config{Headers: long}).Try(t.Context(), c); a.Outcome != applied {
		t.Errorf("%+v", a)
	}
	if sent != 1 {
		t.Errorf("Sent was called %d times", sent)
	}
}

// A listener that holds the request back beyond its deadline: it must not leave
// any more, since from then on an "absent" counts as evidence.
// Seen red without the look at the deadline after Sent.
func TestNothingLeavesAfterTheDeadline(t *testing.T) {
	t.Parallel()
	got := make(chan int64, 1)
	url := rawServer(t, func(conn net.Conn) {
		n, _ := io.Copy(io.Discard, conn)
		got <- n
	})
	ctx, cancel := context.WithCancel(t.Context())
	c := call(`{}`)
	c.Sent = cancel
	a := toward(t, host.Once, url, httptool.Config{}).Try(ctx, c)
	if n := <-got; n != 0 {
		t.Errorf("%d bytes left after the deadline", n)
	}
	if a.Outcome != notApplied || a.Settles || a.Code != "not_sent" {
		t.Errorf("%+v", a)
	}
}

// Each call has a connection of its own: a stale one would leave an outcome that
// nobody knows, and what comes late or twice on it would answer another call.
//
// Seen red with kept connections.
func TestEachCallHasAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	verify := &httptool.Verify{URL: "/things/{key}"}
	for _, row := range []struct {
		name   string
		class  host.Class
		verify *httptool.Verify
	}{
		{"once", host.Once, nil},
		{"keyed that cannot be asked", host.Keyed, nil},
		{"once that can be asked", host.Once, verify},
		{"keyed that can be asked", host.Keyed, verify},
		{"verify", host.Verify, verify},
		{"read", host.Read, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var connections atomic.Int32
			s := httptest.NewUnstartedServer(says(200, `{}`))
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			s.Start()
			t.Cleanup(s.Close)
			tool := toward(t, row.class, s.URL, httptool.Config{Verify: row.verify})
			want := int32(0)
			for range 3 {
				want++
				if a := tool.Try(t.Context(), call(`{}`)); a.Outcome != applied {
					t.Fatalf("%+v", a)
				}
				if v, ok := tool.(host.Verifier); ok {
					want++
					if v := v.Verify(t.Context(), call(`{}`)); v.Kind != host.Found {
						t.Fatalf("%+v", v)
					}
				}
			}
			if got := connections.Load(); got != want {
				t.Errorf("%d connections, want %d", got, want)
			}
		})
	}
}

// Seen red without the dialer's check, and with a check of the name only.
func TestPrivateAddressesAreRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	url := rawServer(t, func(net.Conn) { reached.Add(1) })
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	for _, name := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		cfg := &httptool.Config{URL: "http://" + name + ":" + port + "/", Verify: &httptool.Verify{URL: "http://" + name + ":" + port + "/{key}"}}
		tool := build(t, host.Contract{}, cfg, nil)
		c := call(`{}`)
		c.Sent = func() { t.Errorf("%s: Sent was called", name) }
		a := tool.Try(t.Context(), c)
		if a.Outcome != notApplied || a.Settles || a.Code != "address_refused" || !strings.Contains(a.Message, `allow = ["private"]`) {
			t.Errorf("%s: %+v", name, a)
		}
		v := tool.(host.Verifier).Verify(t.Context(), c)
		if v.Kind != host.NoAnswer || v.Code != "address_refused" {
			t.Errorf("%s: asked: %+v", name, v)
		}
	}
	if reached.Load() != 0 {
		t.Error("a private address was reached")
	}
}

func TestWhichAddressesArePublic(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "100.127.255.255", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"192.0.0.8", "198.18.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "fec0::1",
		"::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:100.64.0.1", "::10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1",
		"2002:a00:1::1", "2001::1", "2001:db8::1", "100::1",
	} {
		if httptool.Public(address) {
			t.Errorf("%s passes for public", address)
		}
	}
	for _, address := range []string{
		"1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1",
		"::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001::1",
	} {
		if !httptool.Public(address) {
			t.Errorf("%s passes for private", address)
		}
	}
}

func TestTransportReadsNoProxyFromTheEnvironment(t *testing.T) {
	t.Parallel()
	tr := httptool.NewTransport(false, time.Second)
	if tr.Proxy != nil {
		t.Error("a proxy may be used")
	}
	if tr.Protocols.HTTP2() || tr.Protocols.UnencryptedHTTP2() || !tr.Protocols.HTTP1() {
		t.Errorf("protocols %v, want HTTP/1 alone", tr.Protocols)
	}
}
