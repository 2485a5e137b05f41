package mcp

import (
	"errors"
	"net/http"
	"time"
)

// checkedWriter limits the time of each write, and keeps the first error, because mcp-go only logs
// errors.
type checkedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	err     error
	wrote   bool // at least a part of an answer was written

	flushed func(error) // if set, called after each flush with the first error, if any
}

func (n *checkedWriter) WriteHeader(status int) {
	n.wrote = true
	n.ResponseWriter.WriteHeader(status)
}

func (n *checkedWriter) Write(b []byte) (int, error) {
	n.wrote = true
	n.bound()
	written, err := n.ResponseWriter.Write(b)
	n.keep(err)
	return written, err
}

// Flush flushes the response, and keeps the error. mcp-go calls it.
func (n *checkedWriter) Flush() {
	n.bound()
	n.keep(n.control.Flush())
	if n.flushed != nil {
		n.flushed(n.err)
	}
}

func (n *checkedWriter) bound() {
	if err := n.control.SetWriteDeadline(time.Now().Add(writeTime)); !errors.Is(err, http.ErrNotSupported) {
		n.keep(err)
	}
}

func (n *checkedWriter) keep(err error) {
	if n.err == nil {
		n.err = err
	}
}
