package serve

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"c2c/broker"
)

// health reports that the server runs, and its version. It reports nothing else, because it answers
// everybody.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	fmt.Fprintf(w, "{\"ok\":true,\"version\":%q}\n", broker.Version)
}

// AddMetrics adds metrics of the caller to those at /metrics. The function write must write lines
// in Prometheus' format, and return when its context ends. Call AddMetrics before Run.
func (s *Server) AddMetrics(write func(context.Context, io.Writer)) {
	s.addedMetrics = append(s.addedMetrics, write)
}

// metricsTime bounds the time for the caller's metrics. It may be short, because a scraper asks
// again anyway.
const metricsTime = 5 * time.Second

// metrics writes the server's own metrics and those that AddMetrics has added, in Prometheus' text
// format 0.0.4.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	gauge(w, "c2c_http_start_time_seconds", "Start of the daemon, in seconds since 1970.", s.counts.start.Unix())
	gauge(w, "c2c_http_connections", "Open connections.", s.connections.Load())
	gauge(w, "c2c_http_streams", "Open streams.", int64(s.open.size()))
	gauge(w, "c2c_http_roots", "Open roots.", int64(len(s.roots.paths())))
	header(w, "c2c_http_refused_total", "Refused requests, by reason.", "counter")
	by := s.counts.copy()
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(w, "c2c_http_refused_total{reason=%q} %d\n", reason, by[reason])
	}
	ctx, cancel := context.WithTimeout(r.Context(), metricsTime)
	defer cancel()
	for _, write := range s.addedMetrics {
		write(ctx, w)
	}
}

func gauge(w io.Writer, name, help string, value int64) {
	header(w, name, help, "gauge")
	fmt.Fprintf(w, "%s %d\n", name, value)
}

func header(w io.Writer, name, help, kind string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}
