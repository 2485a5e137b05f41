package claude

import (
	"context"
	"time"

	"c2c/client"
	"c2c/wake"
)

func init() { wake.Register(wake.Client{Name: "claude", Ways: ways, Inject: Inject}) }

// ways returns the ways to Claude Code: its channel if this MCP server has one, otherwise its
// socket. Only an MCP server that the client has started can use the channel or the socket.
func ways(p wake.RingContext, s wake.Session) (w wake.Ways, err error) {
	w.Busy = func(context.Context) bool {
		return client.ClaudeDoing(p.Config, s.Process, s.ID).InTurn()
	}
	if !p.Inside {
		return w, nil
	}
	if p.Push != nil {
		w.Methods = append(w.Methods, p.Push(w.Busy))
	}
	socket, err := FromEnv(p.Getenv, time.Now)
	if err != nil {
		if p.Push != nil {
			err = nil
		}
		return w, err
	}
	socket.Inbound = func() string { return client.ClaudeInbound(p.Config, p.Getenv) }
	m := wake.Method{Name: wake.BySocket, Doorbell: socket}
	if s.Hooked { // only our hooks show that a carried message has arrived
		m.Carrier = &Carrier{Socket: socket, Box: p.Box, Busy: w.Busy, Config: p.Config, Process: s.Process}
	}
	w.Methods = append(w.Methods, m)
	return w, nil
}
