package main

import (
	"time"

	"c2c/broker/httpd"
	"c2c/broker/httpd/webhook"
	"c2c/broker/senders"
)

// serveHooks adds the paths for mail from outside.
func (d *httpDaemon) serveHooks(s *httpd.Server, list *senders.List) {
	hooks := webhook.New(webhook.Config{Senders: list, Place: s.Place, Files: d.Dir, Log: d.a.log, Now: time.Now})
	s.Handle(hooks.Routes()...)
}
