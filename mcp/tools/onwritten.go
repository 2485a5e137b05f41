package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/internal/daemon"
	"c2c/mcp/rpc"
)

// YieldTurn tells the transport that the tool call with the context ctx now waits for another
// session. Then the transport may start the next tool call. From then on, the waiting call ends
// when the client hangs up.
func YieldTurn(ctx context.Context) {
	if yield, ok := ctx.Value(turnKey{}).(func()); ok {
		yield()
	}
}

type turnKey struct{} // the key of the function yield in the context

// WithTurn returns a context for a tool call that has the turn: no other tool call of the client
// begins. YieldTurn calls the function yield, which must let the next call begin.
func WithTurn(ctx context.Context, yield func()) context.Context {
	return context.WithValue(ctx, turnKey{}, yield)
}

// OnWritten makes the transport call the function report exactly once. The argument of report is
// nil if the whole answer to the request with the context ctx was written. Otherwise it is the
// reason: the client has stalled, hung up or cancelled the request, the server shuts down, or the
// answer reports an error. "Written" means handed to the operating system: for a pipe, c2c cannot
// find out whether the client reads the answer.
//
// The function report is called after the request's context has ended, and must be
// quick: the transport waits for its end before the transport itself ends, and before
// it starts the next tool call, unless this call has yielded its turn. A handler calls
// OnWritten from its own goroutine.
func OnWritten(ctx context.Context, report func(error)) {
	s := WrittenOf(ctx)
	s.Reports = append(s.Reports, report)
}

// WrittenOf returns the Written of a request. Every transport gives one to each request.
func WrittenOf(ctx context.Context) *Written { return ctx.Value(writtenKey{}).(*Written) }

type writtenKey struct{} // the key of a *Written in the context

// Written tells the handler of a request whether the answer was written.
type Written struct {
	Reports []func(error) // the arguments of OnWritten
	Failed  error         // the error that the answer reports; set only for a transport that cannot see this error in another way
}

// WithWritten returns a context for a request, and the Written whose method Report the transport
// must call.
func WithWritten(ctx context.Context) (context.Context, *Written) {
	s := new(Written)
	return context.WithValue(ctx, writtenKey{}, s), s
}

// Report calls the functions in Reports with err, which is nil if the answer was written. A
// transport calls Report once.
func (s *Written) Report(err error) {
	for _, report := range s.Reports {
		report(err)
	}
}

// Handle lets srv handle a message. It returns the answer, or nil if the message gets no answer,
// and an error if the request failed or was cancelled. MCP forbids an answer to a cancelled
// request. After a panic the answer omits the panic's text, because that text may contain mail.
func Handle(ctx context.Context, log *slog.Logger, srv *server.MCPServer, m rpc.Message) (resp mcp.JSONRPCMessage, err error) {
	if ctx.Err() == nil {
		err = daemon.Survive(log, "answer an MCP client", func() error {
			resp = srv.HandleMessage(ctx, m.Raw)
			return nil
		})
	}
	switch {
	case err != nil:
		return rpc.Refuse(m.ID, mcp.INTERNAL_ERROR, "internal error: "+err.Error()), err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return resp, answerError(resp)
}

// answerError returns the error that an answer reports to the client, if any.
func answerError(resp mcp.JSONRPCMessage) error {
	switch resp := resp.(type) {
	case mcp.JSONRPCError:
		return fmt.Errorf("answered with an error: %s", resp.Error.Message)
	case mcp.JSONRPCResponse:
		if r, ok := resp.Result.(*mcp.CallToolResult); ok && r.IsError {
			return errors.New("answered with a tool error")
		}
	}
	return nil
}
