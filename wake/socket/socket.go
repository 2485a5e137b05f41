// Package socket writes to the Unix sockets of AI programs. It refuses a socket on which another
// user could listen.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"c2c/wake"
)

// PrivateSocket returns nil if path is a socket of this user that no other user can replace.
// Otherwise the error gives the reason.
func PrivateSocket(path string) error {
	dir := filepath.Dir(path)
	info, err := owned(dir)
	if err == nil && (!info.IsDir() || info.Mode().Perm()&0o022 != 0) {
		err = fmt.Errorf("%w: others may write to %q", wake.ErrUnreachable, dir)
	}
	if err != nil {
		return err
	}
	return OurSocket(path)
}

// OurSocket returns nil if path is a socket of this user, and not a link. Otherwise the error gives
// the reason.
func OurSocket(path string) error {
	info, err := owned(path)
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		err = fmt.Errorf("%w: %q is not a socket", wake.ErrUnreachable, path)
	}
	return err
}

func owned(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q is gone", wake.ErrUnreachable, path)
	}
	if err != nil {
		return nil, fmt.Errorf("check the client's socket: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%w: %q is not ours", wake.ErrUnreachable, path)
	}
	return info, nil
}

// writeTime is the longest time for a write: a client that does not read its socket would block the
// write for ever.
const writeTime = 2 * time.Second

// WriteSocket connects to a client's socket and writes data. Then, if finish is not nil, it calls
// finish with the connection.
func WriteSocket(ctx context.Context, path string, data []byte, finish func(*net.UnixConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		kind := wake.ErrUnreachable
		if ctx.Err() != nil || errors.Is(err, syscall.EAGAIN) { // EAGAIN (Linux): too many connections wait for the client to accept them
			kind = wake.ErrUncaptured
		}
		return fmt.Errorf("%w: %v", kind, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err = conn.Write(data); err == nil && finish != nil {
		err = finish(conn.(*net.UnixConn))
	}
	if err != nil {
		return fmt.Errorf("%w: write to its socket: %v", wake.ErrUncaptured, err)
	}
	return nil
}
