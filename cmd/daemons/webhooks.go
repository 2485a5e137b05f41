package daemons

import (
	"time"

	"c2c/serve"
	"c2c/serve/outside"
)

// serveHooks adds the paths for mail from outside.
func (h *Host) serveHooks(s *serve.Server, list *outside.SenderList) {
	hooks := outside.NewHooks(outside.HooksConfig{Senders: list, OpenRoot: s.OpenRoot, Files: h.Files, Log: h.Log, Now: time.Now})
	s.Handle(hooks.Routes()...)
}
