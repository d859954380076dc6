package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Names in the data directory.
const (
	socketName = "pawl.sock"
	// socketFile says where the socket is if its path here is too long.
	socketFile = "SOCKET"
	// bindingName begins the folders in which sockets are made.
	bindingName = ".socket-"
)

// elsewhereName begins the folders of sockets outside data directories.
const elsewhereName = "pawl-socket-"

// maxSocketPath is the longest path of a socket, in bytes: macOS and the BSDs
// keep 104 with the zero at the end, Linux 108.
const maxSocketPath = 103

// socket is where commands reach the server that has a data directory. Only its
// owner can open it (mode 0600), so whoever is there may do what the owner of
// the directory may.
type socket struct {
	net.Listener
	path   string
	remove []string // what close removes, in this order
}

// openSocket makes the socket of a data directory that this process has locked,
// in place of those that dead servers left behind.
func openSocket(data string) (*socket, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	removeStale(data)
	path := filepath.Join(data, socketName)
	if len(path)+len(bindingName)+16 <= maxSocketPath {
		return bindAt(data, path)
	}
	return bindElsewhere(data)
}

// bindAt makes the socket under path. It is made in a folder that nobody else
// can enter and moved when its mode is set, so that at no moment anybody else
// could open it, whatever the umask.
func bindAt(data, path string) (*socket, error) {
	dir, err := os.MkdirTemp(data, bindingName)
	if err != nil {
		return nil, err
	}
	defer os.Remove(dir)
	made := filepath.Join(dir, "s")
	listener, err := bind(made)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(made, path); err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(made))
	}
	return &socket{Listener: listener, path: path, remove: []string{path}}, nil
}

// bindElsewhere makes the socket in a folder of its own where temporary files
// are, and names it in the data directory.
func bindElsewhere(data string) (s *socket, err error) {
	for _, base := range []string{os.TempDir(), "/tmp"} {
		var dir string
		if dir, err = os.MkdirTemp(base, elsewhereName); err != nil {
			continue
		}
		path := filepath.Join(dir, "s")
		var listener net.Listener
		if listener, err = bind(path); err != nil {
			err = errors.Join(err, os.Remove(dir))
			continue
		}
		named := filepath.Join(data, socketFile)
		s = &socket{Listener: listener, path: path, remove: []string{named, path, dir}}
		if err = os.WriteFile(named, []byte(path+"\n"), 0o600); err == nil {
			return s, nil
		}
		return nil, errors.Join(err, s.close())
	}
	return nil, err
}

// bind listens at a path in a folder that only this user can enter.
func bind(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path %s is too long for a socket; set TMPDIR to a shorter one", path)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // it is moved
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(path))
	}
	return listener, nil
}

// close removes the socket. The data directory must still be locked.
func (s *socket) close() error {
	err := s.Close()
	if errors.Is(err, net.ErrClosed) { // by the HTTP server
		err = nil
	}
	for _, name := range s.remove {
		if gone := os.Remove(name); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// removeStale removes what a server that died has left. What cannot be removed
// is in nobody's way: the new socket takes its name. A directory that was copied
// names the socket of the server of the other one, which still answers: that
// stays.
func removeStale(data string) {
	_ = os.Remove(filepath.Join(data, socketName))
	bindings, _ := filepath.Glob(filepath.Join(globbed(data), bindingName+"*")) // the pattern is right
	for _, dir := range bindings {
		_ = os.Remove(filepath.Join(dir, "s"))
		_ = os.Remove(dir)
	}
	if path := socketElsewhere(data); path != "" && !answers(path) {
		_ = os.Remove(path)
		_ = os.Remove(filepath.Dir(path))
	}
	_ = os.Remove(filepath.Join(data, socketFile))
}

// globbed is a path as a pattern that fits only it.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// socketElsewhere is the socket that the data directory names, empty for none.
// Only what a server may have made is believed.
func socketElsewhere(data string) string {
	text, err := os.ReadFile(filepath.Join(data, socketFile))
	if err != nil {
		return ""
	}
	path := strings.TrimSpace(string(text))
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket || !strings.HasPrefix(filepath.Base(filepath.Dir(path)), elsewhereName) {
		return ""
	}
	return path
}

func answers(path string) bool {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// dialSocket connects to the socket of a data directory.
func dialSocket(ctx context.Context, data string) (net.Conn, error) {
	var dialer net.Dialer
	path := filepath.Join(data, socketName)
	if abs, err := filepath.Abs(data); err == nil && len(abs) < len(data) {
		path = filepath.Join(abs, socketName)
	}
	if conn, err := dialer.DialContext(ctx, "unix", path); err == nil {
		return conn, nil
	}
	path = socketElsewhere(data)
	if path == "" {
		return nil, errors.New("no server has the data directory")
	}
	return dialer.DialContext(ctx, "unix", path)
}
