package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// formula writes c2c.rb, the formula for Homebrew: it installs the archive of a system from the
// address in DIST_URL, or without one from the folder of the packages.
func (r *release) formula(targets []target) error {
	base := cmp.Or(os.Getenv("DIST_URL"), "file://"+r.out)
	var choices strings.Builder
	for _, t := range targets {
		name := r.archiveName(t)
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		system := map[string]string{"darwin": "macos", "linux": "linux"}[t.os]
		arch := map[string]string{"arm64": "arm", "amd64": "intel"}[t.arch]
		fmt.Fprintf(&choices, "  on_%s do\n    on_%s do\n      url \"%s/%s\"\n      sha256 \"%x\"\n    end\n  end\n\n", system, arch, base, name, sha256.Sum256(data))
	}
	text := fmt.Sprintf(`class C2c < Formula
  desc "Mail between AI coding sessions"
  homepage "%s"
  version "%s"
  license "MIT"

%s  def install
    bin.install Dir["bin/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/c2c"
    zsh_completion.install "share/zsh/site-functions/_c2c"
    fish_completion.install "share/fish/vendor_completions.d/c2c.fish"
    doc.install Dir["share/doc/c2c/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/c2c version")
  end
end
`, base, r.version, choices.String())
	return r.write("c2c.rb", []byte(text))
}
