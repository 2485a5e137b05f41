// Package registry reads and writes registry.json: a row for each session of a root, in the format of the original.
package registry
