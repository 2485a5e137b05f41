package mcp

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// StdioLimits limits the memory that the stdio transport uses for its client, and the times for
// which the transport waits. The comments of the first three fields end with the default, which
// zero stands for. Only tests set other values.
type StdioLimits struct {
	Line  int           // bytes in one message from the client; 4 MiB
	Write time.Duration // how long an answer waits for the client to read it; 10 s
	Drain time.Duration // the time from the end of the input to the last answer; 5 s
	Log   *slog.Logger  // for c2c's own faults; nil discards

	Stateless *Stateless // see Config.Stateless of package tools
}

func (l StdioLimits) withDefaults() StdioLimits {
	if l.Log == nil {
		l.Log = slog.New(slog.DiscardHandler)
	}
	return StdioLimits{cmp.Or(l.Line, 4<<20), cmp.Or(l.Write, 10*time.Second), cmp.Or(l.Drain, 5*time.Second), l.Log, l.Stateless}
}

// queued is the number of requests that may wait in stdio.calls. When more come, Serve stops
// reading for a while.
const queued = 64

// Serve reads JSON-RPC messages from the input, one in each line, and writes the
// answers to the output. It returns nil when the input has ended and every request
// is answered. It returns an error if, after the end of the input, the answers
// take longer than limits.Drain; if ctx is cancelled; or if a write to the output
// fails. Before it returns an error, it waits limits.Drain for the handlers.
//
// c2c does not use mcp-go's own ServeStdio, which loses pipelined requests at
// the end of the input, sends a handler's notifications after its answer and cannot
// end while the client does not read (measured, v1.2.1).
//
// Tool calls run one at a time, in the order in which they came. So messages are
// delivered in the order in which the client sends them, and a poll comes after all
// earlier calls. Only a call that waits for another session lets the next call
// begin, see YieldTurn. Serve answers a short request, such as tools/list, when it
// reads the request, even during a slow tool call.
//
// When Serve returns, a blocked read or write may still be under way: the caller
// must exit, or close both the input and the output.
func Serve(ctx context.Context, in io.Reader, out io.Writer, srv *server.MCPServer, limits StdioLimits) error {
	limits = limits.withDefaults()
	session := server.NewInProcessSession(tools.StdioID, nil)
	t := &stdio{
		srv:      srv,
		session:  session,
		log:      limits.Log,
		out:      rpc.NewOutput(out, limits.Write, session.ClientNotifications()),
		calls:    make(chan *request, queued),
		answered: make(chan struct{}),
	}
	if err := srv.RegisterSession(ctx, session); err != nil {
		return fmt.Errorf("register stdio session: %w", err)
	}
	defer srv.UnregisterSession(ctx, session.SessionID())

	work, stop := context.WithCancel(srv.WithContext(ctx, session))
	defer stop()
	// c2c offers no revision later than 2025-11-25, so that the client falls back to that revision,
	// see Stateless.
	work = server.WithSupportedProtocolVersions(work, mcp.LegacyProtocolVersions())

	ended := make(chan error, 1)
	go func() { ended <- t.read(work, in, limits) }()
	go t.out.Run()
	go t.answerCalls(work)

	var err error
	select {
	case err = <-ended:
		select {
		case <-t.out.Done:
			return cmp.Or(err, t.out.Failure())
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(limits.Drain):
			err = errors.Join(err, errors.New("end of input: gave up on answers that took too long"))
		}
	case <-t.out.Broken:
		err = t.out.Failure()
	case <-ctx.Done():
		err = ctx.Err()
	}
	// Cancel the calls under way, and wait for their handlers.
	stop()
	close(t.out.Abort)
	select {
	case <-t.answered:
	case <-time.After(limits.Drain):
	}
	return err
}

// read answers each message, or queues it in t.calls. At the end of the input it closes t.calls.
func (t *stdio) read(ctx context.Context, in io.Reader, limits StdioLimits) error {
	defer close(t.calls)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		b, err := rpc.ReadLine(r, limits.Line)
		var m rpc.Message
		var refusal *mcp.JSONRPCError
		switch {
		case err == nil:
			m, refusal = rpc.Parse(b)
		case errors.Is(err, rpc.ErrLineTooLong):
			refusal = rpc.TooLong(limits.Line)
		case errors.Is(err, io.EOF):
			return nil
		default:
			return fmt.Errorf("read from client: %w", err)
		}
		later := err == nil && limits.Stateless.answers(m)
		if m.Method == string(mcp.MethodServerDiscover) && m.ID != nil && !later {
			refusal = noDiscover(m.ID)
		}
		if refusal != nil {
			_ = t.send(refusal) // a pipe that is broken ends Serve
			continue
		}
		if id := m.Cancelled(); id != "" {
			t.cancelRequest(id)
			continue
		}
		if m.Method == "" {
			continue
		}
		r := t.begin(ctx, m)
		if later {
			limits.Stateless.adopt(r, t.session)
		}
		switch m.Method {
		case string(mcp.MethodToolsCall), string(mcp.MethodInitialize), string(mcp.MethodServerDiscover), string(mcp.MethodSubscriptionsListen), string(mcp.MethodResourcesRead):
			// initialize and server/discover name the client, so they stay in order with the tool
			// calls. subscriptions/listen and resources/read may take a while.
			if err := t.queue(ctx, r); err != nil {
				return err
			}
		default:
			t.answer(r)
		}
	}
}

// queue appends a request to t.calls. While too many requests are queued there, it waits.
func (t *stdio) queue(ctx context.Context, r *request) error {
	select {
	case t.calls <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answerCalls answers the requests from t.calls in order. When t.calls is closed, it ends the
// output. If ctx ends first, it returns.
func (t *stdio) answerCalls(ctx context.Context) {
	defer close(t.answered)
	underway := runningCalls{hungUp: make(chan struct{})}
	defer underway.wait.Wait()
	for {
		select {
		case r, ok := <-t.calls:
			if !ok {
				close(underway.hungUp) // the client no longer waits for answers
				underway.wait.Wait()
				close(t.out.Lines) // the method read writes too, but has returned by now
				return
			}
			underway.answer(t, r)
		case <-ctx.Done():
			return
		}
	}
}

// runningCalls are the tool calls under way. One call has the turn; the next call begins when that
// call ends or yields the turn.
type runningCalls struct {
	wait   sync.WaitGroup
	hungUp chan struct{} // closed: the calls that have yielded must end
}

// answer begins the call r. It returns when the call is answered, or has yielded its turn.
func (a *runningCalls) answer(t *stdio, r *request) {
	yielded, done := make(chan struct{}), make(chan struct{})
	yield := sync.OnceFunc(func() { close(yielded) })
	r.ctx = tools.WithTurn(r.ctx, yield)
	a.wait.Go(func() {
		defer close(done)
		t.answer(r)
	})
	if r.Method == string(mcp.MethodSubscriptionsListen) {
		yield() // the request goes on until the client ends it
	}
	select {
	case <-done:
		return
	case <-yielded:
	}
	a.wait.Go(func() {
		select {
		case <-a.hungUp:
			r.cancel(rpc.ErrHungUp)
		case <-done:
		}
	})
}

// answer handles r and writes its answer. If the handler has called OnWritten, the handler then
// gets a report whether the answer was written.
func (t *stdio) answer(r *request) {
	defer t.end(r)
	ctx, written := tools.WithWritten(r.ctx)
	resp, err := tools.Handle(ctx, t.log, r.srv, r.Message)
	if resp != nil && r.ID != nil {
		err = errors.Join(err, t.send(resp))
	}
	written.Report(err)
}
