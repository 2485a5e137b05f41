package webhook

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"c2c/inbox/mail"
	"c2c/senders"
	"c2c/serve"
)

// senderHeader names the writing person behind a bridge. It must not name a room: everybody in the room could write then.
const senderHeader = "X-Sender"

// request is a request whose sender has proved itself.
type request struct {
	sender   senders.Sender
	identity string // of the person behind a bridge
	unknown  bool   // that person is not allowed yet; if so, c2c has not read the body
	to       string // the alias, as the list has it
	first    bool   // POST /
	proof    string // identifies a signed request; "" if the sender has shown a token
	event    string // of GitHub
	media    string
	body     []byte
	query    map[string]string
	header   http.Header
	path     string
}

// read finds the sender of a request, and reads the request whole.
func (h *Hooks) read(w http.ResponseWriter, r *http.Request) (*request, error) {
	q := &request{header: r.Header, path: r.URL.Path, query: map[string]string{}}
	for name, values := range r.URL.Query() {
		if len(values) != 1 {
			return nil, refuse(http.StatusBadRequest, "%.40q is there %d times", name, len(values))
		}
		q.query[name] = values[0]
	}
	err := h.identify(w, r, q)
	if err != nil || q.unknown {
		return q, err
	}
	if q.body == nil {
		if err := q.readBody(r); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// identify finds the sender by its token or its signature. Without either, the answer reveals nothing else.
func (h *Hooks) identify(w http.ResponseWriter, r *http.Request, q *request) error {
	v := serve.VisitorOf(r)
	switch v.Kind {
	case serve.Sender:
		s, ok := h.cfg.Senders.ByName(v.Name)
		if !ok || s.Root != v.Root || s.Scheme != "" {
			return h.nobody()
		}
		q.sender = s
	case serve.Anyone:
		if err := h.verify(w, r, q); err != nil {
			return err
		}
		serve.LetIn(r)
	default:
		return refuse(http.StatusForbidden, "this key is not for this: c2c senders allow makes one")
	}
	if err := q.address(r); err != nil {
		return err
	}
	return h.admit(q)
}

// address finds the alias that a request is for.
func (q *request) address(r *http.Request) error {
	alias := r.PathValue("alias")
	if q.first = r.Pattern == "POST /{$}"; q.first {
		q.to = q.sender.To[0]
		return nil
	}
	to, ok := q.sender.MayWrite(alias)
	if !ok {
		return refuse(http.StatusForbidden, "this sender may not write there")
	}
	q.to = to
	return nil
}

// admit checks the person behind a bridge, and the rate. All unknown people share one bucket, so they slow down no known
// person.
func (h *Hooks) admit(q *request) error {
	names := q.header.Values(senderHeader)
	if len(names) > 1 {
		return refuse(http.StatusBadRequest, "%s is there %d times", senderHeader, len(names))
	}
	name := strings.Join(names, "")
	rate := q.sender.Name
	switch {
	case q.sender.Bridge && name == "":
		return refuse(http.StatusBadRequest, "%s is to say who has written", senderHeader)
	case q.sender.Bridge && senders.CheckIdentity(name) != nil:
		return refuse(http.StatusBadRequest, "%s: %v", senderHeader, senders.CheckIdentity(name))
	case q.sender.Bridge:
		q.identity, q.unknown = name, !q.sender.Knows(name)
		if rate += " " + name; q.unknown {
			rate = q.sender.Name + " ?"
		}
	case name != "" && (mail.CheckAlias(name) != nil || strings.ToLower(name) != q.sender.Name):
		return refuse(http.StatusForbidden, "%s is not the name of this token's sender, and it is no bridge", senderHeader)
	}
	if wait := h.rates.take(rate); wait > 0 {
		return &refusal{http.StatusTooManyRequests, fmt.Sprintf("too many messages; wait %d s", wait), wait}
	}
	return nil
}

// nobody refuses an unknown sender, always with the same words. If there are many such requests, it logs only some.
func (h *Hooks) nobody() error {
	if !h.rates.takeBad() {
		return &refusal{http.StatusTooManyRequests, "too many requests without a key", 1}
	}
	if _, err := h.cfg.Senders.All(); err != nil {
		h.cfg.Log.Error("nobody outside is let in", "err", err)
	}
	h.cfg.Log.Info("a request from outside has no key that is known")
	return refuse(http.StatusUnauthorized, "this needs the token of a sender, or its signature: c2c senders allow makes one")
}

// readBody reads the body once, within the limit of the route.
func (q *request) readBody(r *http.Request) (err error) {
	if coding := r.Header.Values("Content-Encoding"); len(coding) > 0 && !strings.EqualFold(strings.Join(coding, ","), "identity") {
		return refuse(http.StatusUnsupportedMediaType, "send the body as it is, without Content-Encoding")
	}
	if q.media, err = mediaOf(r.Header); err != nil {
		return err
	}
	q.body, err = io.ReadAll(r.Body)
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		return refuse(http.StatusRequestEntityTooLarge, "a body may have %d bytes here", tooLong.Limit)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the body did not come whole")
	}
	return nil
}

// mediaOf is the media type of a body. It refuses types of files, and lets unknown types pass: letter checks that the body is text.
func mediaOf(h http.Header) (string, error) {
	given := h.Values("Content-Type")
	if len(given) == 0 {
		return "", nil
	}
	media, params, err := mime.ParseMediaType(given[0])
	if err != nil || len(given) > 1 {
		return "", refuse(http.StatusUnsupportedMediaType, "Content-Type cannot be read")
	}
	kind, _, _ := strings.Cut(media, "/")
	switch charset := strings.ToLower(params["charset"]); {
	case kind == "multipart" || kind == "image" || kind == "audio" || kind == "video":
		return "", refuse(http.StatusUnsupportedMediaType, "files are not taken: send text, and a link or a path in it")
	case charset != "" && charset != "utf-8" && charset != "us-ascii":
		return "", refuse(http.StatusUnsupportedMediaType, "send the text as UTF-8")
	}
	return media, nil
}
