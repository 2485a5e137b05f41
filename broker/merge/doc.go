// Package merge moves all that a root of an older version has into the root that its project has now.
package merge
