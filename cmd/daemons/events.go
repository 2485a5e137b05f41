package daemons

import (
	"net/http"

	"c2c/serve"
	"c2c/serve/outside"
)

// serveEvents adds the path for the streams of events.
func (h *Host) serveEvents(s *serve.Server, list *outside.SenderList) {
	streams := outside.NewEvents(outside.EventsConfig{
		OpenRoot: s.OpenRoot, Log: h.Log,
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
	s.Handle(streams.Routes()...)
}
