package broker

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// maxSeries bounds the sessions and the pairs in /metrics, because each sender chooses its name.
const maxSeries = 500

// put writes one sample of a metric. The labels are names, each with its value behind it.
type put func(value float64, labels ...string)

func (p put) latency(l owed.Latency, labels ...string) {
	p(l.P50, append(labels, "quantile", "0.5")...)
	p(l.P95, append(labels, "quantile", "0.95")...)
	p(l.Max, append(labels, "quantile", "1")...)
}

// labelEscaper has the only three escapes that the format has.
var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Prometheus writes the statistics of several roots in the Prometheus text format 0.0.4: each
// metric once, with the root as a label. A counter of Prometheus must not fall, but c2c forgets
// closed obligations after some time, and counts mail only since a time. So all metrics are gauges
// and summaries.
func Prometheus(w io.Writer, all ...Stats) error {
	if len(all) == 0 { // no root is open: write zeros, because a series that is absent can raise no alarm
		all = []Stats{{Stats: owed.Stats{Surfaces: []owed.SurfaceStats{{Surface: sessions.SurfaceFull}, {Surface: sessions.SurfaceDegraded}}}}}
	}
	var text strings.Builder
	metric := func(name, kind, help string, samples func(Stats, put)) {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind)
		for _, s := range all {
			samples(s, func(value float64, labels ...string) {
				sign := name + "{"
				for one := range slices.Chunk(append([]string{"root", s.Root}, labels...), 2) {
					text.WriteString(sign + one[0] + `="` + labelEscaper.Replace(strings.ToValidUTF8(one[1], "?")) + `"`)
					sign = ","
				}
				fmt.Fprintf(&text, "} %g\n", value)
			})
		}
	}
	metric("c2c_obligations", "gauge", "Questions, tasks and reviews on record, by state.", func(s Stats, put put) {
		put(float64(s.Open-s.Overdue), "state", "open")
		put(float64(s.Overdue), "state", "overdue")
		for _, how := range slices.Sorted(maps.Keys(s.Over)) {
			put(float64(s.Over[how]), "state", how)
		}
	})
	for _, one := range []struct {
		name, help string
		of         func(owed.SurfaceStats) int
	}{
		{"sent", "were sent", func(s owed.SurfaceStats) int { return s.Sent }},
		{"pushed", "were rung for", func(s owed.SurfaceStats) int { return s.Pushed }},
		{"observed", "were handed over", func(s owed.SurfaceStats) int { return s.Observed }},
		{"acknowledged", "got a reply of any kind", func(s owed.SurfaceStats) int { return s.Acknowledged }},
	} {
		metric("c2c_obligations_"+one.name, "gauge", "Obligations that "+one.help+", by surface_support of the session.", func(s Stats, put put) {
			for _, surface := range s.Surfaces {
				put(float64(one.of(surface)), "surface_support", surface.Surface)
			}
		})
	}
	metric("c2c_obligation_observe_seconds", "summary", "Time from the send of a message until it was handed over.", func(s Stats, put put) {
		for _, surface := range s.Surfaces {
			if surface.Observed > 0 {
				put.latency(surface.Observe, "surface_support", surface.Surface)
			}
		}
	})
	for _, one := range []struct {
		name, help string
		of         func(Flow) (value float64, some bool)
	}{
		{"handed", "Messages that were handed over, in the last day.", func(f Flow) (float64, bool) { return float64(f.Handed), true }},
		{"context_bytes", "Bytes that were written into the contexts of models for these messages.", func(f Flow) (float64, bool) { return float64(f.Context), true }},
		{"waiting", "Messages that wait now.", func(f Flow) (float64, bool) { return float64(f.Waiting), true }},
		{"oldest_timestamp_seconds", "When the oldest message that waits was sent.", func(f Flow) (float64, bool) { return mail.Seconds(f.Oldest), !f.Oldest.IsZero() }},
	} {
		metric("c2c_mail_"+one.name, "gauge", one.help, func(s Stats, put put) {
			for _, p := range s.Mail.Pairs[:min(len(s.Mail.Pairs), maxSeries)] {
				if value, some := one.of(p.Flow); some {
					put(value, "from", p.From, "to", p.To)
				}
			}
		})
	}
	bySession := func(name, kind, help string, samples func(SessionCosts, put)) {
		metric(name, kind, help, func(s Stats, put put) {
			for _, one := range s.Mail.Sessions[:min(len(s.Mail.Sessions), maxSeries)] {
				samples(one, put)
			}
		})
	}
	bySession("c2c_mail_handed_after_seconds", "summary", "Time from the send of a message until it was handed over, in the last day.", func(s SessionCosts, put put) {
		if s.Handed > 0 {
			put.latency(s.Took, "to", s.Alias)
		}
	})
	bySession("c2c_session_input_tokens", "gauge", "Tokens of the last request to the model of a session, by its client's own record.", func(s SessionCosts, put put) {
		if s.Tokens.Input > 0 {
			put(float64(s.Tokens.Input), "alias", s.Alias)
		}
	})
	bySession("c2c_rings", "gauge", "Tries to wake a session, in the last day.", func(s SessionCosts, put put) {
		for _, r := range s.Rings {
			put(float64(r.Count), "alias", s.Alias, "method", r.Method, "outcome", r.Outcome)
		}
	})
	_, err := io.WriteString(w, text.String())
	return err
}
