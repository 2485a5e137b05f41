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

// YieldTurn lets the transport take the next tool call while the one that ctx belongs to waits for another session. From then on the
// call ends when the client hangs up.
func YieldTurn(ctx context.Context) {
	if yield, ok := ctx.Value(turnKey{}).(func()); ok {
		yield()
	}
}

type turnKey struct{} // the key in the context

// WithTurn is ctx for a tool call that has the turn; YieldTurn calls yield.
func WithTurn(ctx context.Context, yield func()) context.Context {
	return context.WithValue(ctx, turnKey{}, yield)
}

// OnWritten has done called once: with nil after the answer to the request that
// ctx belongs to has been written whole to the client, else with the reason why
// not: a client that stalled or hung up, a request that it cancelled, a
// shutdown, or an answer that says the request failed. "Written" means handed
// to the operating system; no more can be known about a pipe.
//
// done runs outside the request, whose context has ended by then. The transport
// waits for it before it ends, and before it takes the next tool call, unless this
// one has yielded its turn. So done must be quick. A handler calls OnWritten once at most and not from other
// goroutines. It reports false, and never calls done, when ctx does not come
// from a transport that can tell.
func OnWritten(ctx context.Context, done func(error)) bool {
	s, ok := ctx.Value(WrittenKey{}).(*Written)
	if ok {
		s.Done = done
	}
	return ok
}

type WrittenKey struct{} // the key in the context, of a *Written

// Written tells the handler of a request whether its answer was written.
type Written struct {
	Done   func(error) // what OnWritten was given; nil: the handler does not ask
	Failed error       // the answer tells of an error; set only for a transport that does not see that itself
}

// WithWritten is ctx for a request whose transport calls Report.
func WithWritten(ctx context.Context) (context.Context, *Written) {
	s := new(Written)
	return context.WithValue(ctx, WrittenKey{}, s), s
}

// Report is called once, when it is known whether the answer was written.
func (s *Written) Report(err error) {
	if s.Done != nil {
		s.Done(err)
	}
}

// Handle returns the answer, nil when there is none to give, and an error when
// the request failed or was cancelled. A cancelled request gets no answer, as
// MCP wants it. A panic is told to the client without its words, which may be those of somebody's message.
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

// withID puts the id of the request into its answer as it came: mcp-go takes a number for a float, and one above 2^53 would
// come back as another one.
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

// answerError reports an answer that tells the client of an error.
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
