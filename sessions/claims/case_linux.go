//go:build !portable

package claims

// fold returns the name: file systems of Linux usually tell two names apart by case.
func fold(name string) string { return name }
