package rooms

import (
	"slices"
	"strings"
	"testing"
)

func isMember(alias string) bool {
	return slices.Contains([]string{"birch", "cedar", "v1.2", "oak@devbox"}, strings.ToLower(alias))
}

func TestMentions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@birch":                           "birch",
		"look, @birch: and @Cedar.":        "birch Cedar",
		"(@birch), @birch":                 "birch",
		"@birch. Then @v1.2.":              "birch v1.2",
		"@birchwood @birch-2 @birch_":      "birch ?birchwood ?birch-2",
		"mail@birch a/@birch x.@birch":     "",
		"@@birch":                          "?@birch",
		"@birch/pkg and @birch@devbox":     "?birch@devbox",
		"@oak@devbox.":                     "oak@devbox",
		"é@birch":                          "",
		"请看@birch":                         "birch",
		"@birch请看":                         "birch",
		"\u201c@birch\u201d":               "birch",
		"\u2014@birch\u2014@cedar":         "birch cedar",
		"\u00a0@birch\u00a0":               "birch",
		"@birсh":                           "?birсh", // with a Cyrillic letter
		"@birche\u0301":                    "?birche\u0301",
		"@小明, @小明":                         "?小明",
		"@brich. @Brich":                   "?brich",
		"\xff@birch\xff":                   "birch",
		"use `@birch` here":                "",
		"``a ` @birch`` @cedar":            "cedar",
		"an open ` and @birch":             "birch",
		"`a\n@birch b`":                    "",
		"`a\n\n@birch b`":                  "birch",
		"```go\n@birch\n```\n@cedar":       "cedar",
		"````\n```\n@birch\n````\n@cedar":  "cedar",
		"~~~\n@birch":                      "",
		"  ```\n@birch\n  ```":             "",
		"> @birch said\n@cedar":            "cedar",
		"```inline @birch``` @cedar":       "cedar",
		"@all":                             "+all",
		"@everyone, @birch":                "birch +all",
		"`@all` at all":                    "",
		"@":                                "",
		"- @birch":                         "birch",
		"@" + strings.Repeat(".", 60_000):  "", // at once
		"@birch" + strings.Repeat(".", 99): "birch",
		"@birch" + strings.Repeat("x", 99): "?birch" + strings.Repeat("x", 59),
		"**@birch** _@cedar_":              "birch",
	} {
		got, unknown, all := Mentions(text, isMember)
		for _, name := range unknown {
			got = append(got, "?"+name)
		}
		if all {
			got = append(got, "+all")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
}

func FuzzMentions(f *testing.F) {
	for _, s := range []string{"@birch", "`@birch`", "```\n@birch\n```", "a@b @all `", "~~~ @birch\n", "<code>@birch</co", "\\`@cedar`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _, _ := Mentions(text, isMember)
		if len(got) > 3 {
			t.Errorf("%q", got)
		}
		for _, name := range got {
			if !isMember(name) || !strings.Contains(text, "@"+name) {
				t.Errorf("%q does not name %q", text, name)
			}
		}
		// A text in a fence that it cannot close names nobody.
		longest, n := 0, 0
		for _, c := range text {
			if n++; c != '`' {
				n = 0
			}
			longest = max(longest, n)
		}
		fence := strings.Repeat("`", longest+3)
		if inside, _, all := Mentions(fence+"\n"+text+"\n"+fence, isMember); len(inside) > 0 || all {
			t.Errorf("%q in a fence names %q", text, inside)
		}
		if len(text) > 0 {
			many, _, _ := Mentions(strings.Repeat(text+" ", min(1000, 1<<16/len(text))), isMember) // it ends soon
			_ = many
		}
	})
}
