//go:build !linux || portable

package proc

import (
	"errors"
	"io"
)

func Namespace(int) string { return "" }

func TCPTable(int, string) (io.ReadCloser, error) { return nil, errors.ErrUnsupported }
