// Package proof holds what tries to break the engine: random workflows over a
// disk that loses power, a real store under real kills and damage, disks that
// are full or broken, modules that mean harm. It is for this repository's tests
// only: what it exports is what their folders share.
//
// Each folder's tests are few and quick by default. Their flags make campaigns
// of them; .ci/run does so in its check "crashes".
package proof
