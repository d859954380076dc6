package httptool_test

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
)

// A receiver that takes connections and says nothing: net/http goes on with a
// handshake when the call that wanted it is over, and must come to an end with
// it. Otherwise each try leaves a connection behind for good.
//
// Seen red without a bound of the handshake.
func TestAHandshakeEnds(t *testing.T) {
	t.Parallel()
	closed := make(chan error, 1)
	url := rawServer(t, func(conn net.Conn) {
		_, err := io.Copy(io.Discard, conn)
		closed <- err
	})
	cfg := &httptool.Config{URL: strings.Replace(url, "http:", "https:", 1), Allow: []string{"private"}}
	tool := build(t, host.Contract{Timeout: 100 * time.Millisecond}, cfg, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if a := tool.Try(ctx, call(`{}`)); a.Outcome != notApplied || a.Code != "not_sent" && a.Code != "not_connected" {
		t.Errorf("%+v", a)
	}
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the connection is still open")
	}
}

// A receiver that leaves HTTP hands the connection over, and from then on
// net/http looks at no context: what comes then is not read.
//
// Seen red with it read like any body.
func TestAReceiverThatSwitchesProtocols(t *testing.T) {
	t.Parallel()
	url := rawServer(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the caller goes
	})
	for _, class := range []host.Class{host.Once, host.Read} {
		tool := toward(t, class, url, httptool.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		came := make(chan host.Answer, 1)
		go func() {
			c := call(`{}`)
			if class == host.Read {
				c = call("")
			}
			came <- tool.Try(ctx, c)
		}()
		select {
		case a := <-came:
			if a.Outcome != host.OutcomeUnknown || a.Code != "http_101" {
				t.Errorf("%s: %+v", class, a)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: Try does not return", class)
		}
		cancel()
	}
}

// A header loses the space around its value, so the receiver gives back another
// text than the secret's.
//
// Seen red with the value looked for as it is.
func TestASecretWithSpaceAroundIt(t *testing.T) {
	t.Parallel()
	const inner = "s3cret-value"
	for _, value := range []string{inner + " ", " " + inner, inner + "\t", "  " + inner + "  "} {
		s := server(t, says(422, `{"error":"no token '`+inner+`'","basic":"`+base64.StdEncoding.EncodeToString([]byte("me:"+inner))+`"}`))
		cfg := &httptool.Config{URL: s.URL, Allow: []string{"private"}, Headers: map[string]string{"X-Api-Key": "{secret.token}"}}
		a := build(t, host.Contract{}, cfg, values("token", value)).Try(t.Context(), call(`{}`))
		if got, want := string(a.Response.Body), `{"error":"no token '[secret token]'","basic":"bWU6[secret token]"}`; got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
	// Five bytes and a space are too few.
	cfg := &httptool.Config{URL: "http://127.0.0.1:1", Allow: []string{"private"}, Headers: map[string]string{"X-Api-Key": "{secret.token}"}}
	if a := build(t, host.Contract{}, cfg, values("token", "abcde ")).Try(t.Context(), call(`{}`)); a.Code != "secret_missing" {
		t.Errorf("%+v", a)
	}
}
