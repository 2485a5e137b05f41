package httpd

import (
	"io"
	"net/http"
	"time"
)

// body is that of a request. Its time ends with it: from then on the server listens whether the client is still there, and
// takes a time that is over for a client that has gone.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *body) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	if err == io.EOF {
		b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
