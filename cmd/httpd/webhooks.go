package httpd

import (
	"time"

	"c2c/senders"
	"c2c/serve"
	"c2c/serve/webhook"
)

// serveHooks adds the paths for mail from outside.
func (h *Host) serveHooks(s *serve.Server, list *senders.List) {
	hooks := webhook.New(webhook.Config{Senders: list, OpenRoot: s.OpenRoot, Files: h.Files, Log: h.Log, Now: time.Now})
	s.Handle(hooks.Routes()...)
}
