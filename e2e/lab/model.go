package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience limits every wait. It is long because two cores may run several clients at once, and a
// timeout must mean a real fault: at a load of 25 OpenCode took more than 90 s to draw its prompt.
const patience = 4 * time.Minute

// Model is a fake provider of models for one client. It speaks the APIs of all vendors, records the
// requests, and gives the replies that the test has scripted.
type Model struct {
	URL string // http://127.0.0.1:port

	t       testing.TB
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a request comes
	all     []*Request
	queues  []*queue
	answer  func(*Request) (Reply, bool)
}

// Request is one call of the model by the client.
type Request struct {
	Time   time.Time
	Path   string
	Header http.Header
	Body   []byte
	Items  []Item   // the whole conversation, oldest first
	Tools  []string // names of the tools on offer
	Side   bool     // a side call of the client (title, quota, …), not a turn of the conversation
}

// Item is one piece of text that the model sees.
type Item struct {
	Message int    // index of its message or input item; -1 for the system prompt
	Role    string // system, developer, user, assistant, or tool for a tool's result
	Kind    string // the API's type: text, tool_use, tool_result, function_call_output, …
	Name    string // the tool's name, if the item calls a tool
	Text    string
}

// Reply is the model's answer in one turn.
type Reply struct {
	Text  string
	Calls []ToolCall
	Hold  <-chan struct{} // the answer waits until this is closed, so that a test can act before the answer
	Rest  <-chan struct{} // the end of the answer waits until this is closed: the client has the text, and the turn runs
	// Status, if set, is an HTTP error to send in place of the answer; Hangup closes the connection
	// without an answer.
	Status int
	// Cached are tokens of the request from a cache, beside the 100 others. An answer has 20.
	Cached int
}

// Hangup is the Reply.Status that closes the connection.
const Hangup = -1

// ToolCall asks the client to run a tool. Codex puts the tools of an MCP server into a Namespace.
type ToolCall struct {
	Name, Namespace string
	Input           any
}

// Say answers with text and ends the turn.
func Say(text string) Reply { return Reply{Text: text} }

// Fail answers with an HTTP error; Fail(Hangup) closes the connection.
func Fail(status int) Reply { return Reply{Status: status} }

// Call answers with one tool call.
func Call(name string, input any) Reply { return Reply{Calls: []ToolCall{{Name: name, Input: input}}} }

// After makes the reply wait until ch is closed.
func (r Reply) After(ch <-chan struct{}) Reply {
	r.Hold = ch
	return r
}

// EndsAfter makes the end of the reply wait until ch is closed; the client gets the text before.
func (r Reply) EndsAfter(ch <-chan struct{}) Reply {
	r.Rest = ch
	return r
}

// rest waits for the end of a reply.
func (r Reply) rest(ctx context.Context) {
	if r.Rest != nil {
		select {
		case <-r.Rest:
		case <-ctx.Done():
		}
	}
}

// NewModel starts a provider. It ends with the test.
func NewModel(t testing.TB) *Model {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return NewModelOn(t, listener)
}

// NewModelOn is NewModel with a listener of the caller, for a client that cannot reach the default
// one.
func NewModelOn(t testing.TB, listener net.Listener) *Model {
	t.Helper()
	m := &Model{t: t, URL: "http://" + listener.Addr().String(), changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.serveMessages)
	mux.HandleFunc("POST /v1/messages/count_tokens", serveTokenCount)
	mux.HandleFunc("POST /v1/responses", m.serveResponses)
	mux.HandleFunc("POST /v1/chat/completions", m.serveChat)
	mux.HandleFunc("POST /v1beta/models/{call}", m.serveGenerate)
	// Clients probe other paths (hello, models); a quick 404 is enough for them.
	mux.HandleFunc("/", http.NotFound)
	server := &http.Server{Handler: mux}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Close() // also ends the requests whose answers a test still holds
		<-served
		if t.Failed() {
			t.Logf("requests to %s:\n%s", m.URL, m.Dump())
		}
	})
	return m
}

// queue holds the replies for the conversations that contain text.
type queue struct {
	text    string
	replies []Reply
}

// Script appends replies to the model's queue. After the last reply the model answers "Done.".
func (m *Model) Script(replies ...Reply) { m.ScriptFor("", replies...) }

// ScriptFor is Script for conversations that contain text, for example the first prompt of one of
// several sessions. A script that was added earlier has precedence.
func (m *Model) ScriptFor(text string, replies ...Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range m.queues {
		if q.text == text {
			q.replies = append(q.replies, replies...)
			return
		}
	}
	m.queues = append(m.queues, &queue{text, replies})
}

// Answer sets a function that the model asks for a reply before it uses the scripts. If the
// function returns false, the scripts answer.
func (m *Model) Answer(f func(*Request) (Reply, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = f
}

// take records a request and chooses its reply.
func (m *Model) take(r *Request) Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, r)
	close(m.changed)
	m.changed = make(chan struct{})
	if r.Side {
		return Say("ok")
	}
	if m.answer != nil {
		if reply, ok := m.answer(r); ok {
			return reply
		}
	}
	for _, q := range m.queues {
		if len(r.Find(q.text)) == 0 {
			continue
		}
		if len(q.replies) == 0 {
			break
		}
		reply := q.replies[0]
		q.replies = q.replies[1:]
		return reply
	}
	return Say("Done.")
}

// Turns returns the recorded requests of the conversation, oldest first, without the client's side
// calls.
func (m *Model) Turns() []*Request {
	turns, _ := m.snapshot()
	return turns
}

func (m *Model) snapshot() ([]*Request, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var turns []*Request
	for _, r := range m.all {
		if !r.Side {
			turns = append(turns, r)
		}
	}
	return turns, m.changed
}

// Wait returns turn n (from 0) once the client has requested it.
func (m *Model) Wait(n int) *Request {
	m.t.Helper()
	return m.WaitFor(fmt.Sprintf("turn %d", n), func(turns []*Request) *Request {
		if len(turns) > n {
			return turns[n]
		}
		return nil
	})
}

// WaitText returns the first turn in which the model sees text.
func (m *Model) WaitText(text string) *Request {
	m.t.Helper()
	return m.WaitFor(fmt.Sprintf("a turn with %q", text), func(turns []*Request) *Request {
		for _, r := range turns {
			if len(r.Find(text)) > 0 {
				return r
			}
		}
		return nil
	})
}

// WaitFor waits until pick returns a request among the turns. what describes that request for
// people.
func (m *Model) WaitFor(what string, pick func([]*Request) *Request) *Request {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		turns, changed := m.snapshot()
		if r := pick(turns); r != nil {
			return r
		}
		select {
		case <-changed:
		case <-ctx.Done():
			m.t.Fatalf("the model was not asked for %s in %v; %d turns so far", what, patience, len(turns))
		}
	}
}

// Find returns the items that contain text. An item is in the result once for each time that it
// contains the text.
func (r *Request) Find(text string) []Item {
	var found []Item
	for _, item := range r.Items {
		for range strings.Count(item.Text, text) {
			found = append(found, item)
		}
	}
	return found
}

// Last returns the newest item.
func (r *Request) Last() Item {
	if len(r.Items) == 0 {
		return Item{}
	}
	return r.Items[len(r.Items)-1]
}

// String returns the conversation without the system prompt. Long texts are cut.
func (r *Request) String() string {
	var b strings.Builder
	for _, item := range r.Items {
		if item.Message < 0 {
			continue
		}
		text := item.Text
		if len(text) > 200 {
			text = fmt.Sprintf("%s… (%d bytes)", text[:200], len(text))
		}
		fmt.Fprintf(&b, "  %d %s/%s %s %q\n", item.Message, item.Role, item.Kind, item.Name, text)
	}
	return b.String()
}

// Dump returns a text that shows every recorded request.
func (m *Model) Dump() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for i, r := range m.all {
		side := ""
		if r.Side {
			side = " (side call)"
		}
		fmt.Fprintf(&b, "#%d %s %s%s, %d tools\n%s", i, r.Time.Format("15:04:05.000"), r.Path, side, len(r.Tools), r)
	}
	return b.String()
}

// receive reads a call into body, records it, and returns the reply. The function read copies the
// parts of body that the model sees into the record. receive returns false if there is nothing more
// to send: the client has hung up, or an error was sent.
func (m *Model) receive(w http.ResponseWriter, r *http.Request, body any, read func(*Request)) (Reply, bool) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return Reply{}, false // the client hung up
	}
	if err := json.Unmarshal(data, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return Reply{}, false
	}
	request := &Request{Time: time.Now(), Path: r.URL.Path, Header: r.Header, Body: data}
	read(request)
	// Calls for titles, summaries and quota have no tools; every turn of a conversation has some.
	request.Side = len(request.Tools) == 0
	reply := m.take(request)
	if !hold(r.Context(), reply) {
		return reply, false
	}
	switch reply.Status {
	case 0:
		return reply, true
	case Hangup:
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(reply.Status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":"made_to_fail","code":%d,"status":"FAILED","message":"The provider was made to fail."}}`, reply.Status)
	return reply, false
}

// hold waits until a reply may be sent. It returns false if the client has given up before.
func hold(ctx context.Context, reply Reply) bool {
	if reply.Hold == nil {
		return true
	}
	select {
	case <-reply.Hold:
		return true
	case <-ctx.Done():
		return false
	}
}

// stream writes server-sent events.
type stream struct{ w http.ResponseWriter }

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w}
}

// event writes an event with a name. It also sets the name as the type in the data.
func (s stream) event(name string, data map[string]any) {
	data["type"] = name
	fmt.Fprintf(s.w, "event: %s\n", name)
	s.data(data)
}

// data writes an event without a name.
func (s stream) data(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: this package has made v
	}
	fmt.Fprintf(s.w, "data: %s\n\n", text)
	s.w.(http.Flusher).Flush()
}
