package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/broker/owed"
)

func TestMetricsOfARootThatCannotBeReadAreLeftOut(t *testing.T) {
	h := &httpHost{Log: slog.New(slog.DiscardHandler)}
	write := h.measure(func() []string { return []string{"/well", "/dead", "/well"} }, func(_ context.Context, root string) (broker.Stats, error) {
		if root == "/dead" {
			return broker.Stats{}, errors.New("locked")
		}
		return broker.Stats{Stats: owed.Stats{Root: root}}, nil
	})
	var out bytes.Buffer
	write(t.Context(), &out)
	if got := strings.Count(out.String(), `state="open"`); got != 1 || !strings.Contains(out.String(), `c2c_obligations{root="/well",state="open"}`) {
		t.Errorf("%d roots in %s", got, &out)
	}
}
