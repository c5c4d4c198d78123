// Package embed is a module of its own, as the module of another evaluation tool would be:
// its tests import homing from outside and build an evaluation loop of their own on it.
package embed
