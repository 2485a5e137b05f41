package permission

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// edit changes the file of a request as a program would that knows nothing of us.
func (l *lab) edit(session, id string, change func(map[string]any)) {
	l.t.Helper()
	name := l.file(fileOf(session, id) + ending)
	data, err := os.ReadFile(name)
	fields := map[string]any{}
	if err = errors.Join(err, json.Unmarshal(data, &fields)); err != nil {
		l.t.Fatal(err)
	}
	change(fields)
	data, err = json.Marshal(fields)
	if err = errors.Join(err, os.WriteFile(name, data, 0o600)); err != nil {
		l.t.Fatal(err)
	}
}

func TestAVerdictThatTheAuditDoesNotHaveIsForged(t *testing.T) {
	for name, forge := range map[string]func(*lab, map[string]any){
		"written": func(l *lab, f map[string]any) {
			f["state"], f["by"], f["via"], f["at"] = "allowed", "max", "terminal", f["asked_at"]
		},
		"sent, too": func(l *lab, f map[string]any) {
			f["state"], f["at"], f["sent_at"] = "allowed", f["asked_at"], f["asked_at"]
		},
		"denied, changed": func(l *lab, f map[string]any) {
			l.Decide(context.Background(), "abcde", Verdict{By: "max", Via: "page", Proof: "login"})
			f["state"], f["by"], f["via"], f["at"] = "allowed", "max", "page", f["asked_at"]
		},
		"another time": func(l *lab, f map[string]any) {
			l.Decide(context.Background(), "abcde", yes)
			f["state"], f["by"], f["via"], f["at"] = "allowed", "max", "terminal", 1.5
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, ctx := newLab(t), t.Context()
			l.ask("s1", "abcde")
			l.edit("s1", "abcde", func(f map[string]any) { forge(l, f) })
			if r := l.one(); r.State != StateForged {
				t.Errorf("listed as %+v", r)
			}
			if r, err := l.other().Get(ctx, "s1", "abcde"); err != nil || r.State != StateForged {
				t.Errorf("it is %+v, %v", r, err)
			}
			var decided *DecidedError
			if _, err := l.Decide(ctx, "abcde", yes); !errors.As(err, &decided) || !strings.Contains(err.Error(), "somebody has changed its file") {
				t.Errorf("a verdict behind it: %v", err)
			}
			if err := l.Settle(ctx, "s1", "abcde", Sent); err != nil {
				t.Fatal(err)
			}
			if r := l.one(); r.State != StateForged || r.SentAt != 0 && name != "sent, too" {
				t.Errorf("in the end %+v", r)
			}
			if lines := l.audited(); !strings.Contains(strings.Join(lines, "|"), "forged") {
				t.Errorf("audit %q", lines)
			}
		})
	}
}

func TestAVerdictOfTheOldAuditCounts(t *testing.T) {
	l, ctx := newLab(t), t.Context()
	l.ask("s1", "abcde")
	if _, err := l.Decide(ctx, "abcde", Verdict{Allow: true, By: "m\x1bx", Via: "page", Proof: "login"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(l.file(auditFile), l.file(auditFile+".old")); err != nil {
		t.Fatal(err)
	}
	if r := l.one(); r.State != StateAllowed || r.Proof != "login" {
		t.Errorf("it is %+v", r)
	}
	os.Remove(l.file(auditFile + ".old"))
	if r := l.one(); r.State != StateForged {
		t.Errorf("without an audit it is %+v", r)
	}
}

// A server compares what others were shown with what its client has said.
func TestARequestThatWasChangedIsNotTheSame(t *testing.T) {
	l := newLab(t)
	r := request("s1", "abcde")
	r.Input = strings.Repeat("x\x1b", maxText)
	if err := l.Ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if now := l.one(); !now.Same(r) || !now.Partial {
		t.Errorf("another: %+v", now)
	}
	for _, field := range []string{"input_preview", "description", "tool_name"} {
		l.edit("s1", "abcde", func(f map[string]any) { f[field] = "ls" })
		if l.one().Same(r) {
			t.Errorf("%s was changed", field)
		}
	}
	l.edit("s1", "abcde", func(f map[string]any) { f["input_preview"], f["partial"] = `"ls"`, false })
	if l.one().Partial {
		t.Error("it is not in part any more")
	}
	if err := l.Settle(t.Context(), "s1", "abcde", StateForged); err != nil || l.one().State != StateForged {
		t.Errorf("%+v, %v", l.one(), err)
	}
}

func TestWhatIsShownInPartTakesAVerdictThatSaysSo(t *testing.T) {
	for _, input := range []string{
		"{ command: echo one\n⋯ 4,000 code points elided ⋯\ntouch two }", "{ a: 1 }\n⋯ 3 fields elided: b, c, d ⋯\n", "(unserializable)",
		"{ command: (value unserializable) }", "{ token: (value hidden: it could not be masked. Check it in the terminal or refuse) }",
		strings.Repeat("é", maxText), strings.Repeat("\x00", maxText/2),
	} {
		l, ctx := newLab(t), t.Context()
		r := request("s1", "abcde")
		r.Input = input
		if err := l.Ask(ctx, r); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Decide(ctx, "abcde", yes); !errors.Is(err, ErrPartial) || l.one().State != StateOpen || !l.one().Partial {
			t.Errorf("%.40q: %v, %v", input, err, l.one().State)
		}
		if lines := l.audited(); !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "refused: not shown in full") }) {
			t.Errorf("audit %q", lines)
		}
		v := yes
		v.Partial = true
		if _, err := l.Decide(ctx, "abcde", v); err != nil || l.one().State != StateAllowed {
			t.Errorf("%.40q, said: %v", input, err)
		}
	}
	l := newLab(t)
	r := request("s1", "abcde")
	r.Description = strings.Repeat("x", maxText+1)
	l.Ask(t.Context(), r)
	if _, err := l.Decide(t.Context(), "abcde", Verdict{By: "max", Proof: "login"}); err != nil {
		t.Errorf("denied: %v", err)
	}
	l.ask("s1", "bcdef")
	if _, err := l.Decide(t.Context(), "bcdef", yes); err != nil {
		t.Errorf("in full: %v", err)
	}
}
