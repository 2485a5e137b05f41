// Package format writes times, durations and counts in words, for people.
package format
