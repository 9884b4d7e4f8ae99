-- rankweave @VERSION@ for Lmod. The prefix is found from the place of this file, which is
-- PREFIX/share/lmod/rankweave/@VERSION@.lua.

help([[
rankweave run -- mpirun -n 64 ./app     records; reorders the ranks from the second launch on
rankweave --help, man rankweave         all commands
]])
whatis("Name: rankweave")
whatis("Version: @VERSION@")
whatis("Description: places MPI ranks that exchange much data close together")
conflict("rankweave")

local prefix = myFileName():gsub("/share/lmod/rankweave/[^/]*$", "")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("CPATH", pathJoin(prefix, "include"))
