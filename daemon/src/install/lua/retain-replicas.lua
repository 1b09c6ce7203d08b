function Retain(desiredObj, observedObj)
  local labels = desiredObj.metadata.labels
  if labels ~= nil and labels["resourcetemplate.karmada.io/retain-replicas"] == "true" then
    desiredObj.spec.replicas = observedObj.spec.replicas
  end
  return desiredObj
end
