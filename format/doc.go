// Package format writes times, spans and counts as people read them.
package format
