package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/mcp/rpc"
	"c2c/process/survive"
)

// YieldTurn lets the transport start the next tool call while the call of ctx waits for another session. From then on, the
// call of ctx ends when the client hangs up.
func YieldTurn(ctx context.Context) {
	if yield, ok := ctx.Value(turnKey{}).(func()); ok {
		yield()
	}
}

type turnKey struct{} // the key of the function yield in the context

// WithTurn returns ctx for a tool call that has the turn. YieldTurn will call yield.
func WithTurn(ctx context.Context, yield func()) context.Context {
	return context.WithValue(ctx, turnKey{}, yield)
}

// OnWritten makes the transport call done once. done gets nil if the whole answer to the request of ctx was written.
// Otherwise it gets the reason: the client has stalled, hung up or cancelled the request, the server shuts down, or the
// answer reports an error. "Written" means handed to the operating system: for a pipe, c2c cannot find out whether the
// client reads it.
//
// done runs after the request's context has ended, and must be quick: the transport
// waits for done before it ends, and before it starts the next tool call, unless
// this call has yielded its turn. A handler calls OnWritten at most once, and from
// its own goroutine. If the transport of ctx does not support it, OnWritten returns
// false and done is never called.
func OnWritten(ctx context.Context, done func(error)) bool {
	s, ok := ctx.Value(WrittenKey{}).(*Written)
	if ok {
		s.Done = done
	}
	return ok
}

type WrittenKey struct{} // the key of a *Written in the context

// Written tells the handler of a request whether the answer was written.
type Written struct {
	Done   func(error) // the argument of OnWritten; nil: the handler has not called it
	Failed error       // the error that the answer reports; set only for a transport that cannot see it in another way
}

// WithWritten returns ctx for a request whose transport calls Report.
func WithWritten(ctx context.Context) (context.Context, *Written) {
	s := new(Written)
	return context.WithValue(ctx, WrittenKey{}, s), s
}

// Report calls Done with err, which is nil if the answer was written. A transport calls Report once.
func (s *Written) Report(err error) {
	if s.Done != nil {
		s.Done(err)
	}
}

// Handle lets srv handle a message. It returns the answer, nil if the message gets none, and an error if the request failed
// or was cancelled. MCP forbids an answer to a cancelled request. After a panic the answer omits the panic's text, which
// may contain mail.
func Handle(ctx context.Context, log *slog.Logger, srv *server.MCPServer, m rpc.Message, refusal *mcp.JSONRPCError) (resp mcp.JSONRPCMessage, err error) {
	if refusal != nil {
		return refusal, nil
	}
	if ctx.Err() == nil {
		err = survive.Call(log, "answer an MCP client", func() error {
			resp = withID(srv.HandleMessage(ctx, m.Raw), m.ID)
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

// withID puts the request's id, byte for byte, into the answer: mcp-go parses a number as a float, and would change an id
// above 2^53.
func withID(resp mcp.JSONRPCMessage, id json.RawMessage) mcp.JSONRPCMessage {
	if id == nil {
		return resp
	}
	switch resp := resp.(type) {
	case mcp.JSONRPCResponse:
		resp.ID = mcp.NewRequestId(id)
		return resp
	case mcp.JSONRPCError:
		resp.ID = mcp.NewRequestId(id)
		return resp
	}
	return resp
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
