package outside

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"c2c/inbox/mail"
	"c2c/serve"
)

// senderHeader is the header in which a bridge names the person who has written. A bridge must not
// name a chat room there, because then everybody in the room could write.
const senderHeader = "X-Sender"

// request is a request whose sender is known.
type request struct {
	sender   Sender
	identity string // the person behind a bridge
	to       string // the receiver's alias, as it is in the list of senders
	first    bool   // the request is POST /, so its receiver is the first alias to which the sender may write
	proof    string // identifies a signed request; "": the sender has shown a token
	event    string // GitHub's name of the event
	media    string // the media type of the body
	body     []byte
	query    map[string]string
	header   http.Header
	path     string
}

// read finds the sender of a request, and reads the whole request.
func (h *Hooks) read(r *http.Request) (*request, error) {
	q := &request{header: r.Header, path: r.URL.Path, query: map[string]string{}}
	for name, values := range r.URL.Query() {
		if len(values) != 1 {
			return nil, refuse(http.StatusBadRequest, "the parameter %.40q is in the URL %d times: give it once", name, len(values))
		}
		q.query[name] = values[0]
	}
	if err := h.identify(r, q); err != nil {
		return nil, err
	}
	if q.body == nil {
		if err := q.readBody(r); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// identify finds the sender by its token or its signature. If neither is valid, the error does not
// reveal why.
func (h *Hooks) identify(r *http.Request, q *request) error {
	v := serve.VisitorOf(r)
	switch v.Kind {
	case serve.Sender:
		s, ok := h.cfg.Senders.ByName(v.Name)
		if !ok || s.Root != v.Root || s.Scheme != "" {
			return h.nobody(v.Name, s.Scheme, "its key was changed or taken away meanwhile")
		}
		q.sender = s
	case serve.Anyone:
		if err := h.verify(r, q); err != nil {
			return err
		}
	default:
		return refuse(http.StatusForbidden, "this kind of key may not send mail; make one that may: c2c senders allow")
	}
	if err := q.address(r); err != nil {
		return err
	}
	return h.admit(q)
}

// address finds the alias to which a request goes.
func (q *request) address(r *http.Request) error {
	alias := r.PathValue("alias")
	if q.first = r.Pattern == "POST /{$}"; q.first {
		q.to = q.sender.To[0]
		return nil
	}
	to, ok := q.sender.MayWrite(alias)
	if !ok {
		return refuse(http.StatusForbidden, "this sender may not write to this alias; to permit it: c2c senders allow")
	}
	q.to = to
	return nil
}

// admit checks the rate, and the person behind a bridge before it reads what that person has
// written. All unknown people of a bridge share one bucket, so they never slow down a known person.
func (h *Hooks) admit(q *request) error {
	names := q.header.Values(senderHeader)
	if len(names) > 1 {
		return refuse(http.StatusBadRequest, "the header %s is there %d times: send it once", senderHeader, len(names))
	}
	name := strings.Join(names, "")
	rate, known := q.sender.Name, true
	switch {
	case q.sender.Bridge && name == "":
		return refuse(http.StatusBadRequest, "the header %s must name the person who has written", senderHeader)
	case q.sender.Bridge && CheckIdentity(name) != nil:
		return refuse(http.StatusBadRequest, "%s: %v", senderHeader, CheckIdentity(name))
	case q.sender.Bridge:
		q.identity, known = name, q.sender.Knows(name)
		if rate += " " + name; !known {
			rate = q.sender.Name + " ?"
		}
	case name != "" && (mail.CheckAlias(name) != nil || strings.ToLower(name) != q.sender.Name):
		return refuse(http.StatusForbidden, "the header %s does not name the sender of this token, and that sender is not a bridge", senderHeader)
	}
	if wait := h.rates.take(rate); wait > 0 {
		return &refusal{http.StatusTooManyRequests, fmt.Sprintf("too many messages; wait %d s", wait), wait}
	}
	if !known {
		h.refused(Refusal{Sender: q.sender.Name, Scheme: "token", Why: fmt.Sprintf("nobody has allowed its writer %s: c2c senders allow %s '%s'", name, q.sender.Name, name)})
		return refuse(http.StatusForbidden, "Nobody here knows you yet. The person of this project lets you in: c2c senders allow %s '%s'", q.sender.Name, name)
	}
	return nil
}

// refused logs a refusal, and keeps it for c2c senders list.
func (h *Hooks) refused(r Refusal) {
	r.At = h.cfg.Now().UTC()
	h.cfg.Log.Info("a request from outside is refused", "sender", r.Sender, "scheme", r.Scheme, "why", r.Why)
	if err := h.cfg.Senders.Refuse(r); err != nil {
		h.cfg.Log.Warn("a refusal could not be saved", "err", err)
	}
}

// nobody refuses a request from an unknown sender, always in the same words. Only the log and c2c
// senders list tell why; if many such requests come, only of some. The name and the scheme are what
// the request says.
func (h *Hooks) nobody(name, scheme, why string) error {
	if _, err := h.cfg.Senders.All(); err != nil {
		h.cfg.Log.Error("no sender outside can write, because the list of senders cannot be read", "err", err)
	}
	if mail.CheckSender(name) != nil {
		name = ""
	}
	known, _ := h.cfg.Senders.ByName(name)
	if h.rates.take("\x00"+known.Name) == 0 { // no sender has this name; all unknown ones share a rate
		h.refused(Refusal{Sender: name, Scheme: scheme, Why: why})
	}
	return refuse(http.StatusUnauthorized, "this path needs the token or the signature of a sender; to make one: c2c senders allow")
}

// readBody reads the whole body, within the limit of the route.
func (q *request) readBody(r *http.Request) (err error) {
	if coding := r.Header.Values("Content-Encoding"); len(coding) > 0 && !strings.EqualFold(strings.Join(coding, ","), "identity") {
		return refuse(http.StatusUnsupportedMediaType, "send the body as it is, without Content-Encoding")
	}
	if q.media, err = mediaOf(r.Header); err != nil {
		return err
	}
	q.body, err = io.ReadAll(r.Body)
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		return refuse(http.StatusRequestEntityTooLarge, "the body may have at most %d bytes here", tooLong.Limit)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the body did not arrive completely: send it again")
	}
	return nil
}

// mediaOf returns the media type of a body. It refuses the types of files. It lets unknown types
// pass, because the method letter checks later that the body is text.
func mediaOf(h http.Header) (string, error) {
	given := h.Values("Content-Type")
	if len(given) == 0 {
		return "", nil
	}
	media, params, err := mime.ParseMediaType(given[0])
	if err != nil || len(given) > 1 {
		return "", refuse(http.StatusUnsupportedMediaType, "the header Content-Type is not valid")
	}
	kind, _, _ := strings.Cut(media, "/")
	switch charset := strings.ToLower(params["charset"]); {
	case kind == "multipart" || kind == "image" || kind == "audio" || kind == "video":
		return "", refuse(http.StatusUnsupportedMediaType, "c2c takes no files: send text, and a link or a path in it")
	case charset != "" && charset != "utf-8" && charset != "us-ascii":
		return "", refuse(http.StatusUnsupportedMediaType, "send the text as UTF-8")
	}
	return media, nil
}
