package broker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// warnings is a log that gives each warning to a function, and drops the rest.
type warnings func(context.Context, slog.Record)

func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (w warnings) WithAttrs([]slog.Attr) slog.Handler               { return w }
func (w warnings) WithGroup(string) slog.Handler                    { return w }

func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	w(ctx, r)
	return nil
}

// Tell is a log for a program that answers a person or a model: it gives each warning to f as one sentence.
func Tell(f func(sentence string)) *slog.Logger {
	return slog.New(warnings(func(_ context.Context, r slog.Record) {
		var facts []string
		r.Attrs(func(a slog.Attr) bool {
			facts = append(facts, fmt.Sprintf("%s %v", strings.ReplaceAll(a.Key, "_", " "), a.Value))
			return true
		})
		f(r.Message + ": " + strings.Join(facts, ", "))
	}))
}

// mailLog is the log of the mailboxes. It writes warnings to broker.log, too, since not every program shows them.
func (b *Broker) mailLog() *slog.Logger {
	return slog.New(slog.NewMultiHandler(b.log.Handler(), warnings(func(ctx context.Context, r slog.Record) {
		notes := []Note{{"warning", r.Message}}
		r.Attrs(func(a slog.Attr) bool {
			notes = append(notes, Note{a.Key, a.Value.String()})
			return true
		})
		b.record(ctx, "mailbox", notes...)
	})))
}
