// Package socket refuses sockets at which somebody else may listen.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"c2c/wake"
)

// Private fails unless the socket is Ours and nobody else can put another one in its place.
func Private(path string) error {
	dir := filepath.Dir(path)
	info, err := owned(dir)
	if err == nil && (!info.IsDir() || info.Mode().Perm()&0o022 != 0) {
		err = fmt.Errorf("%w: others may write to %q", wake.ErrUnreachable, dir)
	}
	if err != nil {
		return err
	}
	return Ours(path)
}

// Ours fails unless path is a socket of this user, and no link to one.
func Ours(path string) error {
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
		return nil, fmt.Errorf("look at the socket of the client: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%w: %q is not ours", wake.ErrUnreachable, path)
	}
	return info, nil
}
