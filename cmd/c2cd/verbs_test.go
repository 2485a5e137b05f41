package main

import (
	"bytes"
	"strings"
	"testing"

	"c2c/cmd/cli"
)

func TestEveryVerbOfC2cdHasCode(t *testing.T) {
	for _, v := range cli.Verbs() {
		if !v.C2cd {
			continue
		}
		var out, errs bytes.Buffer
		home := t.TempDir()
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, cwd: home, c2c: "/opt/c2c", getenv: func(name string) string {
			return map[string]string{"HOME": home}[name]
		}}
		if code := a.main(t.Context(), []string{v.Name, "--help"}); code != 0 || !strings.HasPrefix(out.String(), "usage: c2c "+v.Name) {
			t.Errorf("%s --help: exit %d, %.60q %s", v.Name, code, out.String(), errs.String())
		}
	}
}
