package main

import (
	"net/http"

	"c2c/broker/httpd"
	"c2c/broker/httpd/events"
	"c2c/broker/senders"
)

// serveEvents adds the path where others read what happens.
func (d *httpDaemon) serveEvents(s *httpd.Server, list *senders.List) {
	h := events.New(events.Config{
		Place: s.Place, Log: d.a.log,
		Root: func(r *http.Request) (string, error) {
			root, _, err := s.RootFor(r)
			return root, err
		},
		Decides: func(name string) []string {
			if one, ok := list.ByName(name); ok && one.Verdicts {
				return one.To
			}
			return nil
		},
	})
	s.Handle(h.Routes()...)
}
