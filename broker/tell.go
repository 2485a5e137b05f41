package broker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// Tell is a log for a program that answers a person or a model: it gives each warning to f as one sentence.
func Tell(f func(sentence string)) *slog.Logger { return slog.New(teller(f)) }

type teller func(string)

func (t teller) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (t teller) WithAttrs([]slog.Attr) slog.Handler               { return t }
func (t teller) WithGroup(string) slog.Handler                    { return t }

func (t teller) Handle(_ context.Context, r slog.Record) error {
	var facts []string
	r.Attrs(func(a slog.Attr) bool {
		facts = append(facts, fmt.Sprintf("%s %v", strings.ReplaceAll(a.Key, "_", " "), a.Value))
		return true
	})
	t(r.Message + ": " + strings.Join(facts, ", "))
	return nil
}
