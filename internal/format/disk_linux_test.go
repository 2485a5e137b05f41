package format

import (
	"strings"
	"testing"
)

// Some file systems of other programs do not say how large they are, and neither does /proc.
func TestADiskThatDoesNotTellItsSizeIsNotCalledFull(t *testing.T) {
	for _, f := range CheckDisk("/proc/self/task") {
		if strings.Contains(f.Detail, "full") {
			t.Error(f.Detail)
		}
	}
}
