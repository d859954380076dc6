package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// defaultAddr is where tools.toml looks for the services.
const defaultAddr = "127.0.0.1:7730"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "services:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("services", flag.ContinueOnError)
	listen := flags.String("listen", defaultAddr, "address to listen on; port 0 takes a free one")
	dir := flags.String("ledger", filepath.Join(".pawl", "ledger"), "directory of the ledgers")
	untilEOF := flags.Bool("until-eof", false, "stop when standard input ends")
	var set []Fault
	flags.Func("fault", "TOOL[@MATCH]=MODE[:TIMES], such as pay.refund@W1007=commit-hang:1; may be repeated", func(text string) error {
		f, err := parseFault(text)
		set = append(set, f)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := open(*dir, set, stdout)
	if err != nil {
		return err
	}
	defer s.world.ledger.close()
	if *untilEOF {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		go func() {
			defer stop()
			_, _ = io.Copy(io.Discard, stdin) // an error is an end too
		}()
	}
	return s.listen(ctx, *listen)
}

// open makes the services over a ledger directory, with the faults that the
// orders bring and then those that were asked for.
func open(dir string, set []Fault, announce io.Writer) (*server, error) {
	orders, err := loadOrders()
	if err != nil {
		return nil, err
	}
	l, err := openLedger(dir)
	if err != nil {
		return nil, err
	}
	s := newServer(&world{ledger: l, orders: orders}, announce)
	var all []Fault
	for _, o := range orders {
		if o.Payment != nil {
			f := *o.Payment
			f.Tool, f.Match = "pay.refund", o.ID
			all = append(all, f)
		}
	}
	for _, f := range append(all, set...) {
		if err := s.setFault(f); err != nil {
			l.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *server) listen(ctx context.Context, addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.say, "listening %s\n", ln.Addr()); err != nil {
		return errors.Join(err, ln.Close())
	}
	srv := &http.Server{Handler: s.mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	close(s.done) // whatever is held ends unanswered and undone
	stopping, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = srv.Shutdown(stopping)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
